SELECT api_keys.id
FROM api_keys
JOIN users ON users.id = api_keys.user_id
WHERE api_keys.id = %(id_1)s::UUID
AND api_keys.revoked_at IS NULL
AND (api_keys.expires_at IS NULL OR api_keys.expires_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
AND users.status != %(status_1)s::VARCHAR
