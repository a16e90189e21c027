UPDATE candidates
SET is_passed=?
WHERE candidates.tenant_id = ?
AND candidates.id IN (__[POSTCOMPILE_id_1])
