UPDATE users
SET password_hash=?
WHERE users.id = ?
RETURNING id, tenant_id, email, role, status, password_hash, created_at
