UPDATE notifications
SET status=?, next_try_at=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE notifications.id IN (__[POSTCOMPILE_id_1])
AND notifications.status IN (__[POSTCOMPILE_status_1])
