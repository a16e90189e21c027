SELECT run_jobs.job_id
FROM run_jobs
WHERE run_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND run_jobs.state = __[POSTCOMPILE_under_way]
LIMIT %(param_1)s::INTEGER
