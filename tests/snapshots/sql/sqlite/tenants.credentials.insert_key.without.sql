INSERT INTO api_keys (id, user_id, name, prefix, secret_hash, scopes, expires_at, created_at, made_via, made_by)
VALUES (?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?, ?)
RETURNING id, user_id, name, prefix, secret_hash, scopes, expires_at, revoked_at, last_used_at, created_at, made_via, made_by
