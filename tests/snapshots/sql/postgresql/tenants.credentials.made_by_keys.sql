SELECT api_keys.id, api_keys.made_by, api_keys.revoked_at IS NULL
AND (api_keys.expires_at IS NULL OR api_keys.expires_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) AS works
FROM api_keys
WHERE api_keys.user_id = %(user_id_1)s::UUID
AND api_keys.made_via = %(made_via_1)s::VARCHAR
