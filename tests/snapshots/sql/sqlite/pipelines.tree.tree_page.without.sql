SELECT candidates.id, candidates.tenant_id, candidates.run_id, candidates.position, candidates.parent_id, candidates.job_id, candidates.file_id, candidates.image_index, candidates.seed, candidates.status, candidates.is_passed, candidates.elo, candidates.rank, candidates.votes, candidates.children, candidates.started, candidates.failures, candidates.scores, candidates.created_at, candidates.rejected_at, there.mime_type
FROM candidates
LEFT OUTER
JOIN (SELECT files.id AS id, files.mime_type AS mime_type
FROM files
WHERE files.tenant_id = ?
AND files.status = ?) AS there ON there.id = candidates.file_id
WHERE candidates.tenant_id = ?
AND candidates.run_id = ?
ORDER BY candidates.id
LIMIT ? OFFSET ?
