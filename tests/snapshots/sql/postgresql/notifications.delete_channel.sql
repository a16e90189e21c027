DELETE
FROM notification_channels
WHERE notification_channels.id = %(id_1)s::UUID
