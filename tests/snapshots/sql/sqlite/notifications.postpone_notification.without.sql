UPDATE notifications
SET next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), response_status=?, last_error=?
WHERE notifications.id = ?
AND notifications.attempts = ?
AND notifications.status = ?
RETURNING id
