UPDATE pipeline_runs
SET tokens_spent=(pipeline_runs.tokens_spent + %(by_tokens)s::BIGINT), jobs_started=(pipeline_runs.jobs_started + %(by_jobs)s::INTEGER), in_flight=(pipeline_runs.in_flight + %(by_in_flight)s::INTEGER)
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.id = %(of_run)s::UUID
