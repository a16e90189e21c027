SELECT candidates.id, candidates.elo, candidates.rank, candidates.children, candidates.started, candidates.failures
FROM candidates
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.run_id = %(of_run)s::UUID
AND candidates.position = %(at_step)s::INTEGER
AND candidates.status = __[POSTCOMPILE_alive]
AND candidates.is_passed
ORDER BY candidates.rank, candidates.id
LIMIT __[POSTCOMPILE_top]
