SELECT files.id, files.tenant_id, files.user_id, files.name, files.disk, files.path, files.mime_type, files.size, files.status, files.multipart_id, files.created_at, files.stored_at, files.deleted_at, files.sha256, files.metadata
FROM files
WHERE files.tenant_id = ?
AND files.user_id = ?
AND files.status != ?
ORDER BY files.id DESC
LIMIT ? OFFSET ?
