SELECT users.id, users.tenant_id, users.email, users.role, users.status, users.password_hash, users.created_at
FROM users
WHERE users.id = ?
