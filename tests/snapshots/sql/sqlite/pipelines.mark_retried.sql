UPDATE run_jobs
SET state=?
WHERE run_jobs.tenant_id = ?
AND run_jobs.job_id = ?
AND run_jobs.state = ?
RETURNING job_id, tenant_id, run_id, position, parent_id, place, ordinal, seed, tokens, state, error, created_at, ended_at
