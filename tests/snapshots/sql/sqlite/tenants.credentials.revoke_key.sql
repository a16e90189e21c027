UPDATE api_keys
SET revoked_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE api_keys.id = ?
AND api_keys.revoked_at IS NULL
RETURNING id, user_id, name, prefix, secret_hash, scopes, expires_at, revoked_at, last_used_at, created_at
