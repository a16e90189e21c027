SELECT due.id, due.tenant_id, pipelines.steps
FROM (SELECT pipeline_runs.id AS id, pipeline_runs.tenant_id AS tenant_id, pipeline_runs.pipeline_id AS pipeline_id, pipeline_runs.advance_due_at AS advance_due_at, row_number() OVER (PARTITION BY pipeline_runs.tenant_id
ORDER BY pipeline_runs.advance_due_at, pipeline_runs.id) AS place
FROM pipeline_runs
WHERE pipeline_runs.advance_due_at IS NOT NULL) AS due
JOIN pipelines ON pipelines.tenant_id = due.tenant_id
AND pipelines.id = due.pipeline_id
ORDER BY due.place, due.advance_due_at
LIMIT %(param_1)s::INTEGER
