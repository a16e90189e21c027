SELECT api_keys.id
FROM api_keys
JOIN users ON users.id = api_keys.user_id
WHERE api_keys.id = ?
AND api_keys.revoked_at IS NULL
AND (api_keys.expires_at IS NULL OR api_keys.expires_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
AND users.status != ?
