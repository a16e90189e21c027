SELECT found.tenant_id, found.run_id, found.job_id, count(*) OVER () AS total
FROM (SELECT run_jobs.tenant_id AS tenant_id, run_jobs.run_id AS run_id, run_jobs.job_id AS job_id
FROM run_jobs
WHERE run_jobs.state = ?
AND NOT (EXISTS (SELECT candidates.id
FROM candidates
WHERE candidates.tenant_id = run_jobs.tenant_id
AND candidates.job_id = run_jobs.job_id
AND candidates.run_id = run_jobs.run_id
AND candidates.position = run_jobs.position
AND candidates.parent_id IS run_jobs.parent_id))) AS found
LIMIT ? OFFSET ?
