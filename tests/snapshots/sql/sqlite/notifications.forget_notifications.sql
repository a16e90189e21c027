DELETE
FROM notifications
WHERE notifications.id IN (SELECT oldest.id
FROM (SELECT notifications.id AS id, notifications.ended_at AS ended_at
FROM notifications
ORDER BY notifications.id
LIMIT ? OFFSET ?) AS oldest
WHERE oldest.ended_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
