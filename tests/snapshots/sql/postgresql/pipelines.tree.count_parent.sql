UPDATE candidates
SET children=(candidates.children + %(children_1)s::INTEGER), started=(candidates.started + %(started_1)s::INTEGER), failures=(candidates.failures + %(failures_1)s::INTEGER)
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id = %(id_1)s::UUID
