INSERT INTO webhook_deliveries (id, tenant_id, event_id, endpoint_id, status, attempts, attempts_before, next_try_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
