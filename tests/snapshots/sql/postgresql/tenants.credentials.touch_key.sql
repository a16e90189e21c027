UPDATE api_keys
SET last_used_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE api_keys.id = %(id_1)s::UUID
AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
