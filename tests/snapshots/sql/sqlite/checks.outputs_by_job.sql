SELECT job_files.job_id, files.path
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
JOIN job_files ON job_files.job_id = b.id
AND job_files.role = ?
JOIN files ON files.tenant_id = job_files.tenant_id
AND files.id = job_files.file_id
