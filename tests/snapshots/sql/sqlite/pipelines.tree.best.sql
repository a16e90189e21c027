SELECT candidates.id, candidates.elo, candidates.rank, candidates.children, candidates.started, candidates.failures
FROM candidates
WHERE candidates.tenant_id = ?
AND candidates.run_id = ?
AND candidates.position = ?
AND candidates.status = __[POSTCOMPILE_alive]
AND candidates.is_passed = 1
ORDER BY candidates.rank, candidates.id
LIMIT __[POSTCOMPILE_top] OFFSET ?
