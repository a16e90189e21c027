UPDATE candidates
SET elo=%(elo)s, rank=%(rank)s, votes=(candidates.votes + %(votes_1)s::INTEGER)
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id = %(id_1)s::UUID
