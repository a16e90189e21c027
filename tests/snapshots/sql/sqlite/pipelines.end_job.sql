UPDATE run_jobs
SET state=?, error=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE run_jobs.tenant_id = ?
AND run_jobs.job_id = ?
AND run_jobs.state = __[POSTCOMPILE_under_way]
RETURNING job_id, tenant_id, run_id, position, parent_id, place, ordinal, seed, tokens, state, error, created_at, ended_at
