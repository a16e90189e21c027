INSERT INTO fair_shares (lane, tenant_id, finish_tag)
VALUES (?, ?, (coalesce((SELECT ai_job_dispatches.fair_tag
FROM ai_job_dispatches
WHERE ai_job_dispatches.lane = ?
AND ai_job_dispatches.status = ?
ORDER BY ai_job_dispatches.fair_tag, ai_job_dispatches.seq
LIMIT ? OFFSET ?), (SELECT fair_shares.finish_tag
FROM fair_shares
WHERE fair_shares.lane = ?
ORDER BY fair_shares.finish_tag DESC
LIMIT ? OFFSET ?), ?) + ?))
ON CONFLICT (lane, tenant_id) DO UPDATE
SET finish_tag = (MAX(fair_shares.finish_tag, coalesce((SELECT ai_job_dispatches.fair_tag
FROM ai_job_dispatches
WHERE ai_job_dispatches.lane = ?
AND ai_job_dispatches.status = ?
ORDER BY ai_job_dispatches.fair_tag, ai_job_dispatches.seq
LIMIT ? OFFSET ?), (SELECT fair_shares.finish_tag
FROM fair_shares
WHERE fair_shares.lane = ?
ORDER BY fair_shares.finish_tag DESC
LIMIT ? OFFSET ?), ?)) + ?)
RETURNING finish_tag
