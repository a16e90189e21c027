SELECT job_files.job_id, files.path
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
JOIN job_files ON job_files.job_id = b.id
AND job_files.role = %(role_1)s::VARCHAR
JOIN files ON files.tenant_id = job_files.tenant_id
AND files.id = job_files.file_id
