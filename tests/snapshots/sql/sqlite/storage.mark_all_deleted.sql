UPDATE files
SET status=?, deleted_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE files.id IN (__[POSTCOMPILE_id_1])
AND files.status IN (__[POSTCOMPILE_status_1])
AND files.tenant_id = ?
AND files.user_id = ?
RETURNING id, tenant_id, user_id, name, disk, path, mime_type, size, status, multipart_id, created_at, stored_at, deleted_at, sha256, metadata
