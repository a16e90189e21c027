UPDATE candidates
SET children=(candidates.children + %(by_children)s::INTEGER), started=(candidates.started + %(by_started)s::INTEGER), failures=(candidates.failures + %(by_failures)s::INTEGER)
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id = %(candidate_id)s::UUID
