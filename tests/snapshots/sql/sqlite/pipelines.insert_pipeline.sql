INSERT INTO pipelines (id, tenant_id, slug, version, name, description, steps, created_by, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, slug, version, name, description, steps, created_by, created_at, archived_at
