SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.user_id
FROM ai_jobs
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.id = ?
AND ai_jobs.user_id = ?
