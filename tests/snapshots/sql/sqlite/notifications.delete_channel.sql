DELETE
FROM notification_channels
WHERE notification_channels.id = ?
