INSERT INTO webhook_endpoints (id, tenant_id, url, description, secret, event_types, is_active, is_listed, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, url, description, secret, event_types, is_active, is_listed, disabled_reason, created_at
