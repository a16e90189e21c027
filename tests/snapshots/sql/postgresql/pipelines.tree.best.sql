SELECT candidates.id, candidates.elo, candidates.rank, candidates.children, candidates.started, candidates.failures
FROM candidates
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.run_id = %(run_id_1)s::UUID
AND candidates.position = %(position_1)s::INTEGER
AND candidates.status = __[POSTCOMPILE_alive]
AND candidates.is_passed
ORDER BY candidates.rank, candidates.id
LIMIT %(param_1)s::INTEGER
