INSERT INTO fair_shares (lane, tenant_id, finish_tag)
VALUES (%(lane)s::INTEGER, %(tenant_id)s::UUID, (coalesce((SELECT ai_job_dispatches.fair_tag
FROM ai_job_dispatches
WHERE ai_job_dispatches.lane = %(lane_1)s::INTEGER
AND ai_job_dispatches.status = %(status_1)s::VARCHAR
ORDER BY ai_job_dispatches.fair_tag, ai_job_dispatches.seq
LIMIT %(param_1)s::INTEGER), (SELECT fair_shares.finish_tag
FROM fair_shares
WHERE fair_shares.lane = %(lane_2)s::INTEGER
ORDER BY fair_shares.finish_tag DESC
LIMIT %(param_2)s::INTEGER), %(param_3)s) + %(coalesce_1)s))
ON CONFLICT (lane, tenant_id) DO UPDATE
SET finish_tag = (GREATEST(fair_shares.finish_tag, coalesce((SELECT ai_job_dispatches.fair_tag
FROM ai_job_dispatches
WHERE ai_job_dispatches.lane = %(lane_1)s::INTEGER
AND ai_job_dispatches.status = %(status_1)s::VARCHAR
ORDER BY ai_job_dispatches.fair_tag, ai_job_dispatches.seq
LIMIT %(param_1)s::INTEGER), (SELECT fair_shares.finish_tag
FROM fair_shares
WHERE fair_shares.lane = %(lane_2)s::INTEGER
ORDER BY fair_shares.finish_tag DESC
LIMIT %(param_2)s::INTEGER), %(param_3)s)) + %(param_4)s)
RETURNING fair_shares.finish_tag
