SELECT pipeline_runs.id, pipeline_runs.tenant_id, pipelines.steps
FROM pipeline_runs
JOIN pipelines ON pipelines.tenant_id = pipeline_runs.tenant_id
AND pipelines.id = pipeline_runs.pipeline_id
WHERE pipeline_runs.advance_due_at IS NOT NULL
ORDER BY pipeline_runs.advance_due_at
LIMIT ? OFFSET ?
