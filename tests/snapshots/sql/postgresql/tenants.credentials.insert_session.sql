INSERT INTO web_sessions (id, user_id, secret_hash, address, expires_at, created_at)
SELECT %(param_1)s::UUID AS anon_1, users.id, %(param_2)s::VARCHAR AS anon_2, %(param_3)s::VARCHAR AS anon_3, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_4, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)) AS anon_5
FROM users
WHERE users.id = %(id_1)s::UUID
AND users.status = %(status_1)s::VARCHAR
AND users.password_hash = %(password_hash_1)s::VARCHAR FOR SHARE
RETURNING web_sessions.id, web_sessions.user_id, web_sessions.secret_hash, web_sessions.address, web_sessions.expires_at, web_sessions.ended_at, web_sessions.created_at
