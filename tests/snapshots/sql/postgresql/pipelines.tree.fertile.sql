SELECT best.id, best.tenant_id, best.run_id, best.position, best.parent_id, best.job_id, best.file_id, best.image_index, best.seed, best.status, best.is_passed, best.elo, best.rank, best.votes, best.children, best.started, best.failures, best.scores, best.created_at, best.rejected_at
FROM (SELECT candidates.id AS id, candidates.tenant_id AS tenant_id, candidates.run_id AS run_id, candidates.position AS position, candidates.parent_id AS parent_id, candidates.job_id AS job_id, candidates.file_id AS file_id, candidates.image_index AS image_index, candidates.seed AS seed, candidates.status AS status, candidates.is_passed AS is_passed, candidates.elo AS elo, candidates.rank AS rank, candidates.votes AS votes, candidates.children AS children, candidates.started AS started, candidates.failures AS failures, candidates.scores AS scores, candidates.created_at AS created_at, candidates.rejected_at AS rejected_at
FROM candidates
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.run_id = %(run_id_1)s::UUID
AND candidates.position = %(position_1)s::INTEGER
AND candidates.status = __[POSTCOMPILE_alive]
AND candidates.is_passed
ORDER BY candidates.rank, candidates.id
LIMIT %(param_1)s::INTEGER) AS best
WHERE best.children < %(children_1)s::INTEGER
AND best.failures < %(failures_1)s::INTEGER
ORDER BY best.rank, best.id
