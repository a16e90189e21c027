SELECT files.id, files.tenant_id, files.user_id, files.name, files.disk, files.path, files.mime_type, files.size, files.status, files.multipart_id, files.created_at, files.stored_at, files.deleted_at, files.sha256, files.metadata
FROM files
WHERE files.status = %(status_1)s::VARCHAR
AND files.disk = %(disk_1)s::VARCHAR
AND files.deleted_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY files.id
LIMIT %(param_1)s::INTEGER
