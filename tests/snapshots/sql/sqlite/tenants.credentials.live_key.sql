SELECT api_keys.id, api_keys.secret_hash, api_keys.scopes, api_keys.expires_at, api_keys.last_used_at IS NULL OR api_keys.last_used_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS untouched, users.id AS user_id, users.email, users.role, tenants.id AS tenant_id, tenants.slug AS tenant_slug, tenants.pool AS tenant_pool, tenants.status AS tenant_status, tenants.priority_max AS tenant_priority_max, tenants.storage_bytes_max AS tenant_storage_bytes_max
FROM api_keys
JOIN users ON users.id = api_keys.user_id
LEFT OUTER
JOIN tenants ON tenants.id = users.tenant_id
WHERE api_keys.prefix = ?
AND api_keys.revoked_at IS NULL
AND (api_keys.expires_at IS NULL OR api_keys.expires_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
AND users.status != ?
