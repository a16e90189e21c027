INSERT INTO tenants (id, slug, name, pool, weight, status, created_at)
VALUES (%(id)s::UUID, %(slug)s::VARCHAR, %(name)s::VARCHAR, %(pool)s::VARCHAR, %(weight)s::INTEGER, %(status)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING tenants.id, tenants.slug, tenants.name, tenants.pool, tenants.weight, tenants.status, tenants.created_at, tenants.priority_max, tenants.storage_bytes_max
