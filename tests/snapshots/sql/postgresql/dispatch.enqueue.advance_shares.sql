INSERT INTO fair_shares (lane, tenant_id, finish_tag, last_cost)
SELECT b.lane, b.tenant_id, coalesce((SELECT ai_job_dispatches.fair_tag
FROM ai_job_dispatches
WHERE ai_job_dispatches.lane = b.lane
AND ai_job_dispatches.status = 'queued'
AND ai_job_dispatches.epoch = %(epoch_1)s::BIGINT
ORDER BY ai_job_dispatches.fair_tag, ai_job_dispatches.seq
LIMIT %(param_1)s::INTEGER), (SELECT f.finish_tag
FROM fair_shares AS f
WHERE f.lane = b.lane
ORDER BY f.finish_tag DESC
LIMIT %(param_2)s::INTEGER), %(param_3)s) + b.cost AS anon_1, b.cost
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(lane INTEGER, tenant_id UUID, cost DOUBLE PRECISION)) AS b
WHERE true
ORDER BY b.lane, b.tenant_id
ON CONFLICT (lane, tenant_id) DO UPDATE
SET finish_tag = GREATEST(fair_shares.finish_tag + excluded.last_cost, excluded.finish_tag), last_cost = excluded.last_cost
RETURNING fair_shares.lane, fair_shares.tenant_id, fair_shares.finish_tag, fair_shares.last_cost
