SELECT candidates.id, candidates.tenant_id, candidates.run_id, candidates.position, candidates.parent_id, candidates.job_id, candidates.file_id, candidates.image_index, candidates.seed, candidates.status, candidates.is_passed, candidates.elo, candidates.rank, candidates.votes, candidates.children, candidates.started, candidates.failures, candidates.scores, candidates.created_at, candidates.rejected_at
FROM candidates
WHERE candidates.tenant_id = %(bound_tenant_id)s::UUID
AND candidates.id = %(candidate_id)s::UUID
