SELECT job_files.job_id, job_files.file_id
FROM job_files
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON job_files.job_id = b.id
WHERE job_files.role = %(role_1)s::VARCHAR
