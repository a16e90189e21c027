SELECT pipeline_runs.id
FROM pipeline_runs
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.id IN (SELECT run_jobs.run_id
FROM run_jobs
WHERE run_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND run_jobs.job_id IN (%(job_0)s::UUID))
ORDER BY pipeline_runs.id FOR UPDATE
