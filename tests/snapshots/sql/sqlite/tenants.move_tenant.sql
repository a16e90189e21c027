UPDATE tenants
SET status=?
WHERE tenants.id = ?
AND tenants.status IN (__[POSTCOMPILE_status_1])
RETURNING id, slug, name, pool, weight, status, created_at, priority_max, storage_bytes_max
