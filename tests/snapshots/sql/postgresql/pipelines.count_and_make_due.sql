UPDATE pipeline_runs
SET tokens_spent=(pipeline_runs.tokens_spent + %(by_tokens)s::BIGINT), jobs_started=(pipeline_runs.jobs_started + %(by_jobs)s::INTEGER), in_flight=(pipeline_runs.in_flight + %(by_in_flight)s::INTEGER), advance_due_at=CASE WHEN (pipeline_runs.status IN (__[POSTCOMPILE_status_1])) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) ELSE pipeline_runs.advance_due_at END, score_due_at=CASE WHEN (pipeline_runs.status IN (__[POSTCOMPILE_status_1])) THEN CASE WHEN (CAST((pipeline_runs.approval ->> %(approval_1)s::TEXT) AS VARCHAR) = %(param_1)s::VARCHAR
AND pipeline_runs.score_due_at IS NULL) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)) ELSE pipeline_runs.score_due_at END ELSE pipeline_runs.score_due_at END
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.id = %(of_run)s::UUID
