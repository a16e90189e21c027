SELECT ai_jobs.id
FROM ai_jobs
JOIN job_files ON job_files.job_id = ai_jobs.id
WHERE ai_jobs.tenant_id = ?
AND ai_jobs.status IN (__[POSTCOMPILE_active])
AND job_files.tenant_id = ?
AND job_files.file_id IN (__[POSTCOMPILE_file_id_1])
AND job_files.role = ?
AND ai_jobs.user_id = ?
LIMIT ? OFFSET ?
