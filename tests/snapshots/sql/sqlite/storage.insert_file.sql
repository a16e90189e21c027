INSERT INTO files (id, tenant_id, user_id, name, disk, path, mime_type, size, status, multipart_id, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
RETURNING id, tenant_id, user_id, name, disk, path, mime_type, size, status, multipart_id, created_at, stored_at, deleted_at, sha256, metadata
