SELECT pipeline_runs.id
FROM pipeline_runs
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.advance_due_at IS NOT NULL
AND (pipeline_runs.id NOT IN (%(run_0)s::UUID))
LIMIT %(param_1)s::INTEGER
