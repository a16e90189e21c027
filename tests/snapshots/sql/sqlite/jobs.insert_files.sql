INSERT INTO job_files (tenant_id, job_id, role, position, file_id, is_primary)
VALUES (?, ?, ?, ?, ?, ?)
