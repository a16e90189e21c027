UPDATE files
SET size=?, sha256=?
WHERE files.tenant_id = ?
AND files.id = ?
AND files.user_id = ?
AND files.status IN (__[POSTCOMPILE_status_1])
RETURNING id, tenant_id, user_id, name, disk, path, mime_type, size, status, multipart_id, created_at, stored_at, deleted_at, sha256, metadata
