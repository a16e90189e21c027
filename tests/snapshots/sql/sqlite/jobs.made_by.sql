SELECT job_files.job_id, job_files.file_id
FROM job_files
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON job_files.job_id = b.id
WHERE job_files.role = ?
