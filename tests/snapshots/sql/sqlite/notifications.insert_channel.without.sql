INSERT INTO notification_channels (id, name, kind, target, secret, only_pages, is_active, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, name, kind, target, secret, only_pages, is_active, disabled_reason, created_at
