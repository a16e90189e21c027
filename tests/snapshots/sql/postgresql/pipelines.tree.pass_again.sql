UPDATE candidates
SET is_passed=%(is_passed)s
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.run_id = %(run_id_1)s::UUID
AND candidates.position = %(position_1)s::INTEGER
