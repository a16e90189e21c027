SELECT api_keys.id, api_keys.made_by, api_keys.revoked_at IS NULL
AND (api_keys.expires_at IS NULL OR api_keys.expires_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) AS works
FROM api_keys
WHERE api_keys.user_id = ?
AND api_keys.made_via = ?
