UPDATE pipeline_runs
SET advance_due_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.status IN (__[POSTCOMPILE_status_1])
AND pipeline_runs.advance_due_at IS NULL
