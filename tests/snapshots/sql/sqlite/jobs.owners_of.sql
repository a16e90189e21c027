SELECT ai_jobs.id, ai_jobs.user_id, ai_jobs.run_id, ai_jobs.status
FROM ai_jobs
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.id IN (?)
