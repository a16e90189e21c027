UPDATE api_keys
SET revoked_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE api_keys.user_id = %(user_id_1)s::UUID
AND api_keys.revoked_at IS NULL
RETURNING api_keys.id
