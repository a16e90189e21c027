SELECT run_jobs.error
FROM run_jobs
WHERE run_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND run_jobs.run_id = %(run_id_1)s::UUID
AND run_jobs.state = %(state_1)s::VARCHAR
ORDER BY run_jobs.job_id DESC
LIMIT %(param_1)s::INTEGER
