UPDATE candidates
SET scores=?
WHERE candidates.tenant_id = ?
AND candidates.id = ?
