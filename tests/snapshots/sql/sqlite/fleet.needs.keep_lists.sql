INSERT INTO capability_lists (digest, lists, created_at)
VALUES (?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
