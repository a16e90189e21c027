UPDATE pipeline_runs
SET
WHERE pipeline_runs.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_runs.id = %(id_1)s::UUID
