INSERT INTO files (id, tenant_id, user_id, name, disk, path, mime_type, size, status, created_at, stored_at, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?)
