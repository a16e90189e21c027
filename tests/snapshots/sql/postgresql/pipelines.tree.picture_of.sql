SELECT files.id
FROM files
JOIN candidates ON candidates.file_id = files.id
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id = %(candidate_id)s::UUID
AND files.tenant_id = %(bound_tenant_id)s::UUID
AND files.user_id = %(of_user)s::UUID
AND files.status = %(status_1)s::VARCHAR
