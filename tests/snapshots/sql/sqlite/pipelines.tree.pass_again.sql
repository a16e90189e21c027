UPDATE candidates
SET is_passed=?
WHERE candidates.tenant_id = ?
AND candidates.run_id = ?
AND candidates.position = ?
