UPDATE notifications
SET status=%(status)s::VARCHAR, next_try_at=%(next_try_at)s::TIMESTAMP WITH TIME ZONE, response_status=%(response_status)s::INTEGER, last_error=%(last_error)s::VARCHAR, ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE notifications.id = %(id_1)s::UUID
AND notifications.attempts = %(attempts_1)s::INTEGER
AND notifications.status IN (__[POSTCOMPILE_status_1])
RETURNING notifications.id
