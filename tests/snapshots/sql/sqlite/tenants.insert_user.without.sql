INSERT INTO users (id, tenant_id, email, role, status, password_hash, created_at)
VALUES (?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, email, role, status, password_hash, created_at
