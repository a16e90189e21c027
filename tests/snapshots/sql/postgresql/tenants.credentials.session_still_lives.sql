SELECT web_sessions.id
FROM web_sessions
JOIN users ON users.id = web_sessions.user_id
WHERE web_sessions.id = %(id_1)s::UUID
AND web_sessions.ended_at IS NULL
AND web_sessions.expires_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
AND users.status = %(status_1)s::VARCHAR
