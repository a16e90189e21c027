UPDATE users
SET password_hash=%(password_hash)s::VARCHAR
WHERE users.id = %(id_1)s::UUID
RETURNING users.id, users.tenant_id, users.email, users.role, users.status, users.password_hash, users.created_at
