SELECT pipelines.id, pipelines.tenant_id, pipelines.slug, pipelines.version, pipelines.name, pipelines.description, pipelines.steps, pipelines.created_by, pipelines.created_at, pipelines.archived_at
FROM pipelines
WHERE pipelines.tenant_id = ?
AND pipelines.id IN (?)
