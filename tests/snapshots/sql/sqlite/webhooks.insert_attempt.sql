INSERT INTO webhook_attempts (id, tenant_id, delivery_id, number, response_status, error, duration_ms, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
