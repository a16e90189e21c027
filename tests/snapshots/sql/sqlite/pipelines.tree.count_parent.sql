UPDATE candidates
SET children=(candidates.children + ?), started=(candidates.started + ?), failures=(candidates.failures + ?)
WHERE candidates.tenant_id = ?
AND candidates.id = ?
