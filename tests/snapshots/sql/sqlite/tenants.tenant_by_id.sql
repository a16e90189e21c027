SELECT tenants.id, tenants.slug, tenants.name, tenants.pool, tenants.weight, tenants.status, tenants.created_at, tenants.priority_max, tenants.storage_bytes_max
FROM tenants
WHERE tenants.id = ?
