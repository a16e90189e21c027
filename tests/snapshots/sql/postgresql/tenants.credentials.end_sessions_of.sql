UPDATE web_sessions
SET ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE web_sessions.user_id = %(user_id_1)s::UUID
AND web_sessions.ended_at IS NULL
