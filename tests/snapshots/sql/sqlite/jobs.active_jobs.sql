SELECT ai_jobs.id
FROM ai_jobs
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.status IN ('queued', 'processing')
AND ai_jobs.user_id = ?
LIMIT ? OFFSET ?
