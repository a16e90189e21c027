UPDATE files
SET status=%(status)s::VARCHAR, stored_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE files.tenant_id = %(bound_tenant_id)s::UUID
AND files.id = %(id_1)s::UUID
AND files.user_id = %(user_id_1)s::UUID
AND files.status IN (__[POSTCOMPILE_status_1])
RETURNING files.id, files.tenant_id, files.user_id, files.name, files.disk, files.path, files.mime_type, files.size, files.status, files.multipart_id, files.created_at, files.stored_at, files.deleted_at, files.sha256, files.metadata
