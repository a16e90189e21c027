INSERT INTO fair_shares (lane, tenant_id, finish_tag, last_cost)
SELECT b.lane, b.tenant_id, coalesce((SELECT ai_job_dispatches.fair_tag
FROM ai_job_dispatches
WHERE ai_job_dispatches.lane = b.lane
AND ai_job_dispatches.status = 'queued'
AND ai_job_dispatches.epoch = ?
ORDER BY ai_job_dispatches.fair_tag, ai_job_dispatches.seq
LIMIT ? OFFSET ?), (SELECT f.finish_tag
FROM fair_shares AS f
WHERE f.lane = b.lane
ORDER BY f.finish_tag DESC
LIMIT ? OFFSET ?), ?) + b.cost AS anon_1, b.cost
FROM (SELECT json_extract(value, '$.lane') AS lane, replace(json_extract(value, '$.tenant_id'), '-', '') AS tenant_id, json_extract(value, '$.cost') AS cost
FROM json_each(?)) AS b
WHERE 1 = 1
ORDER BY b.lane, b.tenant_id
ON CONFLICT (lane, tenant_id) DO UPDATE
SET finish_tag = MAX(fair_shares.finish_tag + excluded.last_cost, excluded.finish_tag), last_cost = excluded.last_cost
RETURNING lane, tenant_id, finish_tag, last_cost
