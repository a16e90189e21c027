SELECT best.id, best.elo, best.rank, best.children, best.started, best.failures
FROM (SELECT candidates.id AS id, candidates.elo AS elo, candidates.rank AS rank, candidates.children AS children, candidates.started AS started, candidates.failures AS failures
FROM candidates
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.run_id = %(of_run)s::UUID
AND candidates.position = %(at_step)s::INTEGER
AND candidates.status = __[POSTCOMPILE_alive]
AND candidates.is_passed
ORDER BY candidates.rank, candidates.id
LIMIT __[POSTCOMPILE_top]) AS best
WHERE best.children < %(variants)s::INTEGER
AND best.failures < %(failures_1)s::INTEGER
ORDER BY best.rank, best.id
