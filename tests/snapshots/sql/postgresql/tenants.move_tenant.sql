UPDATE tenants
SET status=%(status)s::VARCHAR
WHERE tenants.id = %(id_1)s::UUID
AND tenants.status IN (__[POSTCOMPILE_status_1])
RETURNING tenants.id, tenants.slug, tenants.name, tenants.pool, tenants.weight, tenants.status, tenants.created_at, tenants.priority_max, tenants.storage_bytes_max
