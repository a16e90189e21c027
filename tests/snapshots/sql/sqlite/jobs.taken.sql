SELECT job_files.file_id
FROM job_files
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON job_files.file_id = b.id
JOIN ai_jobs ON ai_jobs.tenant_id = job_files.tenant_id
AND ai_jobs.id = job_files.job_id
WHERE job_files.role = ?
AND ai_jobs.completed_at IS NULL
