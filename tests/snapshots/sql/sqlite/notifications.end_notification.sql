UPDATE notifications
SET status=?, next_try_at=?, response_status=?, last_error=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE notifications.id = ?
AND notifications.attempts = ?
AND notifications.status IN (__[POSTCOMPILE_status_1])
RETURNING id
