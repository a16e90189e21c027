UPDATE pipeline_runs
SET advance_due_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), score_due_at=CASE WHEN (CAST((pipeline_runs.approval ->> %(approval_1)s::TEXT) AS VARCHAR) = %(param_1)s::VARCHAR
AND pipeline_runs.score_due_at IS NULL) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)) ELSE pipeline_runs.score_due_at END
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.id = %(of_run)s::UUID
AND pipeline_runs.status IN (__[POSTCOMPILE_status_1])
