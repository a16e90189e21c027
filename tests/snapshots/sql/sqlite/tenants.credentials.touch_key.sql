UPDATE api_keys
SET last_used_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE api_keys.id = ?
AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
