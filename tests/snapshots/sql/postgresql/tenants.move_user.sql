UPDATE users
SET status=%(status)s::VARCHAR
WHERE users.id = %(id_1)s::UUID
AND users.status IN (__[POSTCOMPILE_status_1])
RETURNING users.id, users.tenant_id, users.email, users.role, users.status, users.password_hash, users.created_at
