SELECT files.id, files.tenant_id, files.user_id, files.name, files.disk, files.path, files.mime_type, files.size, files.status, files.multipart_id, files.created_at, files.stored_at, files.deleted_at, files.sha256, files.metadata
FROM files
WHERE files.status = ?
AND files.disk = ?
AND files.deleted_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY files.id
LIMIT ? OFFSET ?
