UPDATE api_keys
SET revoked_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE api_keys.id IN (__[POSTCOMPILE_id_1])
AND api_keys.revoked_at IS NULL
RETURNING api_keys.id
