SELECT best.id, best.elo, best.rank, best.children, best.started, best.failures
FROM (SELECT candidates.id AS id, candidates.elo AS elo, candidates.rank AS rank, candidates.children AS children, candidates.started AS started, candidates.failures AS failures
FROM candidates
WHERE candidates.tenant_id = ?
AND candidates.run_id = ?
AND candidates.position = ?
AND candidates.status = __[POSTCOMPILE_alive]
AND candidates.is_passed = 1
ORDER BY candidates.rank, candidates.id
LIMIT __[POSTCOMPILE_top] OFFSET ?) AS best
WHERE best.children < ?
AND best.failures < ?
ORDER BY best.rank, best.id
