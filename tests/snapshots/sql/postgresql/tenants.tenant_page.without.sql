SELECT tenants.id, tenants.slug, tenants.name, tenants.pool, tenants.weight, tenants.status, tenants.created_at
FROM tenants
ORDER BY tenants.id DESC
LIMIT %(param_1)s::INTEGER
