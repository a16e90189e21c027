UPDATE notifications
SET next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), response_status=%(response_status)s::INTEGER, last_error=%(last_error)s::VARCHAR
WHERE notifications.id = %(id_1)s::UUID
AND notifications.attempts = %(attempts_1)s::INTEGER
AND notifications.status = %(status_1)s::VARCHAR
RETURNING notifications.id
