SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.status, ai_job_dispatches.done_epoch, ai_job_dispatches.settled_at IS NOT NULL AS settled
FROM ai_job_dispatches
WHERE ai_job_dispatches.pool = ?
ORDER BY ai_job_dispatches.id
LIMIT ? OFFSET ?
