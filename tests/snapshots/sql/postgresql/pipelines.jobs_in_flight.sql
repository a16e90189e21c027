SELECT run_jobs.job_id
FROM run_jobs
WHERE run_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND run_jobs.run_id = %(run_id_1)s::UUID
AND run_jobs.state = __[POSTCOMPILE_under_way]
