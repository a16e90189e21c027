SELECT run_jobs.job_id
FROM run_jobs
JOIN candidates ON candidates.id = run_jobs.parent_id
WHERE run_jobs.tenant_id = ?
AND candidates.tenant_id = ?
AND run_jobs.run_id = ?
AND run_jobs.state = __[POSTCOMPILE_under_way]
AND candidates.status = ?
