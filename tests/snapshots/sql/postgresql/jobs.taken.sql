SELECT job_files.file_id
FROM job_files
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON job_files.file_id = b.id
JOIN ai_jobs ON ai_jobs.tenant_id = job_files.tenant_id
AND ai_jobs.id = job_files.job_id
WHERE job_files.role = %(role_1)s::VARCHAR
AND ai_jobs.completed_at IS NULL
