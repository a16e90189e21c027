SELECT found.tenant_id, found.job_id, found.file_id, count(*) OVER () AS total
FROM (SELECT job_files.tenant_id AS tenant_id, job_files.job_id AS job_id, job_files.file_id AS file_id
FROM job_files
JOIN ai_jobs ON ai_jobs.tenant_id = job_files.tenant_id
AND ai_jobs.id = job_files.job_id
LEFT OUTER
JOIN files ON files.tenant_id = job_files.tenant_id
AND files.id = job_files.file_id
AND files.user_id = ai_jobs.user_id
AND files.status = %(status_1)s::VARCHAR
WHERE job_files.role = %(role_1)s::VARCHAR
AND ai_jobs.status IN (__[POSTCOMPILE_status_2])
AND files.id IS NULL) AS found
LIMIT %(param_1)s::INTEGER
