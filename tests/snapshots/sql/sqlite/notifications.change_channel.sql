UPDATE notification_channels
SET
WHERE notification_channels.id = ?
RETURNING id, name, kind, target, secret, only_pages, is_active, disabled_reason, created_at
