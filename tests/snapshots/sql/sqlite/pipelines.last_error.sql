SELECT run_jobs.error
FROM run_jobs
WHERE run_jobs.tenant_id = ?
AND run_jobs.run_id = ?
AND run_jobs.state = ?
ORDER BY run_jobs.job_id DESC
LIMIT ? OFFSET ?
