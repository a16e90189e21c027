SELECT pipeline_runs.id, pipeline_runs.tenant_id, pipeline_runs.user_id, pipeline_runs.pipeline_id, pipeline_runs.name, pipeline_runs.status, pipeline_runs.status_reason, pipeline_runs.variables, pipeline_runs.target_folder, pipeline_runs.variants, pipeline_runs.top, pipeline_runs.finals, pipeline_runs.concurrency, pipeline_runs.tokens_max, pipeline_runs.jobs_max, pipeline_runs.ends_at, pipeline_runs.tokens_spent, pipeline_runs.jobs_started, pipeline_runs.in_flight, pipeline_runs.approval, pipeline_runs.seed_policy, pipeline_runs.seed, pipeline_runs.idempotency_key, pipeline_runs.last_turn, pipeline_runs.advance_due_at, pipeline_runs.created_at, pipeline_runs.started_at, pipeline_runs.ended_at, pipeline_runs.score_due_at, pipeline_runs.ends_at IS NOT NULL
AND pipeline_runs.ends_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS is_over_time
FROM pipeline_runs
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.id IN (%(run_0)s::UUID)
AND pipeline_runs.advance_due_at IS NOT NULL
AND pipeline_runs.status IN (__[POSTCOMPILE_status_1])
ORDER BY pipeline_runs.last_turn, pipeline_runs.id FOR UPDATE SKIP LOCKED
