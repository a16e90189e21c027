UPDATE candidates
SET elo=?, rank=?, votes=(candidates.votes + ?)
WHERE candidates.tenant_id = ?
AND candidates.id = ?
