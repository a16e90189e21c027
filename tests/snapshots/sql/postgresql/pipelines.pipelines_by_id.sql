SELECT pipelines.id, pipelines.tenant_id, pipelines.slug, pipelines.version, pipelines.name, pipelines.description, pipelines.steps, pipelines.created_by, pipelines.created_at, pipelines.archived_at
FROM pipelines
WHERE pipelines.tenant_id = %(bound_tenant_id)s::UUID
AND pipelines.id IN (%(pipeline_0)s::UUID)
