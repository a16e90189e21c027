INSERT INTO files (id, tenant_id, user_id, name, disk, path, mime_type, size, status, multipart_id, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(user_id)s::UUID, %(name)s::VARCHAR, %(disk)s::VARCHAR, %(path)s::VARCHAR, %(mime_type)s::VARCHAR, %(size)s::BIGINT, %(status)s::VARCHAR, %(multipart_id)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
RETURNING files.id, files.tenant_id, files.user_id, files.name, files.disk, files.path, files.mime_type, files.size, files.status, files.multipart_id, files.created_at, files.stored_at
