INSERT INTO one_time_links (id, user_id, purpose, expires_at, created_at)
VALUES (?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
RETURNING id, user_id, purpose, expires_at, spent_at, created_at
