UPDATE notification_channels
SET
WHERE notification_channels.id = %(id_1)s::UUID
RETURNING notification_channels.id, notification_channels.name, notification_channels.kind, notification_channels.target, notification_channels.secret, notification_channels.only_pages, notification_channels.is_active, notification_channels.disabled_reason, notification_channels.created_at
