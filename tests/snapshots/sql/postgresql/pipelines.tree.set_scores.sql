UPDATE candidates
SET scores=%(scores)s::JSONB
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id = %(id_1)s::UUID
