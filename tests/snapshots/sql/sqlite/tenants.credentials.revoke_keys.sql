UPDATE api_keys
SET revoked_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE api_keys.id IN (__[POSTCOMPILE_id_1])
AND api_keys.revoked_at IS NULL
RETURNING id
