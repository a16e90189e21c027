INSERT INTO job_files (tenant_id, job_id, role, position, file_id, is_primary)
VALUES (%(bound_tenant_id)s::UUID, %(job_id)s::UUID, %(role)s::VARCHAR, %(position)s::INTEGER, %(file_id)s::UUID, %(is_primary)s)
