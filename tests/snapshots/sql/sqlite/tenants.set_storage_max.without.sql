UPDATE tenants
SET storage_bytes_max=?
WHERE tenants.id = ?
RETURNING id, slug, name, pool, weight, status, created_at, priority_max, storage_bytes_max
