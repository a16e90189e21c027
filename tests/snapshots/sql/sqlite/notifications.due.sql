SELECT notifications.id, notifications.channel_id, notifications.attempts, notifications.payload, notification_channels.kind, notification_channels.target, notification_channels.secret
FROM notifications
JOIN notification_channels ON notification_channels.id = notifications.channel_id
AND notification_channels.is_active = 1
WHERE notifications.id IN (__[POSTCOMPILE_id_1])
ORDER BY notifications.id
