WITH free AS (SELECT notifications.id AS id
FROM notifications
WHERE notifications.status = 'pending'
AND notifications.next_try_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND (notifications.channel_id NOT IN (__[POSTCOMPILE_channel_id_1]))
AND NOT (EXISTS (SELECT earlier.id
FROM notifications AS earlier
WHERE earlier.status = 'pending'
AND earlier.channel_id = notifications.channel_id
AND earlier.condition = notifications.condition
AND earlier.id < notifications.id))
ORDER BY notifications.id
LIMIT ? OFFSET ?) UPDATE notifications
SET attempts=(notifications.attempts + ?), next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE notifications.id IN (SELECT free.id
FROM free)
AND notifications.status = 'pending'
RETURNING id
