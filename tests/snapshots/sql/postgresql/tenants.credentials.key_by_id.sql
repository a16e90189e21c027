SELECT api_keys.id, api_keys.user_id, api_keys.name, api_keys.prefix, api_keys.secret_hash, api_keys.scopes, api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at, api_keys.created_at, api_keys.made_via, api_keys.made_by
FROM api_keys
WHERE api_keys.id = %(id_1)s::UUID
