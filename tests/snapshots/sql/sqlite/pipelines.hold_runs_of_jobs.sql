SELECT pipeline_runs.id
FROM pipeline_runs
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.id IN (SELECT run_jobs.run_id
FROM run_jobs
WHERE run_jobs.tenant_id = ?
AND run_jobs.job_id IN (?))
ORDER BY pipeline_runs.id
