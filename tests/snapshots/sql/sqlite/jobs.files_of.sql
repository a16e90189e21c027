SELECT job_files.tenant_id, job_files.job_id, job_files.role, job_files.position, job_files.file_id, job_files.is_primary
FROM job_files
WHERE job_files.tenant_id = ?
AND job_files.job_id IN (__[POSTCOMPILE_job_id_1])
AND job_files.role = ?
ORDER BY job_files.job_id, job_files.position
