SELECT files.id, files.tenant_id, files.user_id, files.name, files.disk, files.path, files.mime_type, files.size, files.status, files.multipart_id, files.created_at, files.stored_at, files.deleted_at, files.sha256, files.metadata
FROM files
WHERE files.tenant_id = %(bound_tenant_id)s::UUID
AND files.user_id = %(user_id_1)s::UUID
AND files.status != %(status_1)s::VARCHAR
AND files.id < %(id_1)s::UUID
ORDER BY files.id DESC
LIMIT %(param_1)s::INTEGER
