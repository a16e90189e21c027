SELECT tenants.id, tenants.slug, tenants.name, tenants.pool, tenants.weight, tenants.status, tenants.created_at
FROM tenants
WHERE tenants.slug = ?
