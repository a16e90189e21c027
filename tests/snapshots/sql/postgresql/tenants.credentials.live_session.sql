SELECT web_sessions.id, web_sessions.expires_at, users.id AS user_id, users.email, users.role, tenants.id AS tenant_id, tenants.slug AS tenant_slug, tenants.pool AS tenant_pool, tenants.status AS tenant_status, tenants.priority_max AS tenant_priority_max, tenants.storage_bytes_max AS tenant_storage_bytes_max
FROM web_sessions
JOIN users ON users.id = web_sessions.user_id
LEFT OUTER
JOIN tenants ON tenants.id = users.tenant_id
WHERE web_sessions.secret_hash = %(secret_hash_1)s::VARCHAR
AND web_sessions.ended_at IS NULL
AND web_sessions.expires_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
AND users.status = %(status_1)s::VARCHAR
