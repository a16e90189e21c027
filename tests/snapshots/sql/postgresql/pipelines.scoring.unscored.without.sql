SELECT candidates.id, files.path, files.disk, files.mime_type, files.size, files.status AS file_status
FROM candidates
JOIN files ON files.id = candidates.file_id
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND files.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.run_id = %(run_id_1)s::UUID
AND candidates.status = %(status_1)s::VARCHAR
AND candidates.scores IS NULL
ORDER BY candidates.id
LIMIT %(param_1)s::INTEGER
