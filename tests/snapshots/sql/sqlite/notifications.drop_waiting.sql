UPDATE notifications
SET status=?, next_try_at=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE notifications.channel_id = ?
AND notifications.status IN (__[POSTCOMPILE_status_1])
