INSERT INTO notifications (id, channel_id, channel, channel_kind, kind, condition, subject, payload, status, attempts, next_try_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
