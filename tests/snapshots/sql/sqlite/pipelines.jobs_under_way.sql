SELECT run_jobs.job_id
FROM run_jobs
WHERE run_jobs.tenant_id = ?
AND run_jobs.state = __[POSTCOMPILE_under_way]
LIMIT ? OFFSET ?
