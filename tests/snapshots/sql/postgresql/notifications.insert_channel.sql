INSERT INTO notification_channels (id, name, kind, target, secret, only_pages, is_active, created_at)
VALUES (%(id)s::UUID, %(name)s::VARCHAR, %(kind)s::VARCHAR, %(target)s::VARCHAR, %(secret)s::VARCHAR, %(only_pages)s, %(is_active)s, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING notification_channels.id, notification_channels.name, notification_channels.kind, notification_channels.target, notification_channels.secret, notification_channels.only_pages, notification_channels.is_active, notification_channels.disabled_reason, notification_channels.created_at
