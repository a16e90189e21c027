UPDATE notifications
SET status=%(status)s::VARCHAR, next_try_at=%(next_try_at)s::TIMESTAMP WITH TIME ZONE, ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE notifications.channel_id = %(channel_id_1)s::UUID
AND notifications.status IN (__[POSTCOMPILE_status_1])
