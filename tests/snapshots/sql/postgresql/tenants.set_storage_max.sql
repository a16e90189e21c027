UPDATE tenants
SET storage_bytes_max=%(storage_bytes_max)s::BIGINT
WHERE tenants.id = %(id_1)s::UUID
RETURNING tenants.id, tenants.slug, tenants.name, tenants.pool, tenants.weight, tenants.status, tenants.created_at, tenants.priority_max, tenants.storage_bytes_max
