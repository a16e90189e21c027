UPDATE candidates
SET is_passed=%(is_passed)s
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id IN (__[POSTCOMPILE_id_1])
