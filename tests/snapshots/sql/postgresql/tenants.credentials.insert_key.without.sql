INSERT INTO api_keys (id, user_id, name, prefix, secret_hash, scopes, expires_at, created_at)
VALUES (%(id)s::UUID, %(user_id)s::UUID, %(name)s::VARCHAR, %(prefix)s::VARCHAR, %(secret_hash)s::VARCHAR, %(scopes)s::JSONB, %(expires_at)s::TIMESTAMP WITH TIME ZONE, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
RETURNING api_keys.id, api_keys.user_id, api_keys.name, api_keys.prefix, api_keys.secret_hash, api_keys.scopes, api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at, api_keys.created_at
