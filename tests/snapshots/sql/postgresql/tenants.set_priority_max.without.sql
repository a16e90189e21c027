UPDATE tenants
SET priority_max=%(priority_max)s::INTEGER
WHERE tenants.id = %(id_1)s::UUID
RETURNING tenants.id, tenants.slug, tenants.name, tenants.pool, tenants.weight, tenants.status, tenants.created_at, tenants.priority_max, tenants.storage_bytes_max
