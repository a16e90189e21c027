INSERT INTO tenants (id, slug, name, pool, weight, status, created_at)
VALUES (?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, slug, name, pool, weight, status, created_at, priority_max, storage_bytes_max
