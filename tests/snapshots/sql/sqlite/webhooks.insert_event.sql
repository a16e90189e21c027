INSERT INTO webhook_events (id, tenant_id, event_type, subject_id, payload, created_at)
VALUES (?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id
