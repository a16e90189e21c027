SELECT pipelines.id, pipelines.tenant_id, pipelines.slug, pipelines.version, pipelines.name, pipelines.description, pipelines.steps, pipelines.created_by, pipelines.created_at, pipelines.archived_at
FROM pipelines
WHERE pipelines.tenant_id = %(bound_tenant_id)s::UUID
AND pipelines.slug = %(slug_1)s::VARCHAR
AND pipelines.id < %(id_1)s::UUID
ORDER BY pipelines.id DESC
LIMIT %(param_1)s::INTEGER
