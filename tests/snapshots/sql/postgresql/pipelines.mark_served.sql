UPDATE pipeline_runs
SET tokens_spent=(pipeline_runs.tokens_spent + %(tokens_spent_1)s::BIGINT), jobs_started=(pipeline_runs.jobs_started + %(jobs_started_1)s::INTEGER), in_flight=(pipeline_runs.in_flight + %(in_flight_1)s::INTEGER), last_turn=%(last_turn)s::BIGINT, advance_due_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.id = %(id_1)s::UUID
