SELECT users.id, users.tenant_id, users.email, users.role, users.status, users.password_hash, users.created_at
FROM users
WHERE users.tenant_id = %(tenant_id_1)s::UUID
AND users.id < %(id_1)s::UUID
ORDER BY users.id DESC
LIMIT %(param_1)s::INTEGER
