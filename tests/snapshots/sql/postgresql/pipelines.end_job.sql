UPDATE run_jobs
SET state=%(state)s::VARCHAR, error=%(why)s::VARCHAR, ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE run_jobs.tenant_id = %(bound_tenant_id)s::UUID
AND run_jobs.job_id = %(of_job)s::UUID
AND run_jobs.state = __[POSTCOMPILE_under_way]
RETURNING run_jobs.job_id, run_jobs.tenant_id, run_jobs.run_id, run_jobs.position, run_jobs.parent_id, run_jobs.place, run_jobs.ordinal, run_jobs.seed, run_jobs.tokens, run_jobs.state, run_jobs.error, run_jobs.created_at, run_jobs.ended_at
