UPDATE users
SET status=?
WHERE users.id = ?
AND users.status IN (__[POSTCOMPILE_status_1])
RETURNING id, tenant_id, email, role, status, password_hash, created_at
