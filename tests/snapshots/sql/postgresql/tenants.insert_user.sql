INSERT INTO users (id, tenant_id, email, role, status, password_hash, created_at)
VALUES (%(id)s::UUID, %(tenant_id)s::UUID, %(email)s::VARCHAR, %(role)s::VARCHAR, %(status)s::VARCHAR, %(password_hash)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING users.id, users.tenant_id, users.email, users.role, users.status, users.password_hash, users.created_at
