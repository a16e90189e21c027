UPDATE api_keys
SET revoked_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE api_keys.id = %(id_1)s::UUID
AND api_keys.revoked_at IS NULL
RETURNING api_keys.id, api_keys.user_id, api_keys.name, api_keys.prefix, api_keys.secret_hash, api_keys.scopes, api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at, api_keys.created_at
