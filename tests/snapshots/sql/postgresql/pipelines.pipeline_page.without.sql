SELECT pipelines.id, pipelines.tenant_id, pipelines.slug, pipelines.version, pipelines.name, pipelines.description, pipelines.steps, pipelines.created_by, pipelines.created_at, pipelines.archived_at
FROM pipelines
JOIN (SELECT pipelines.slug AS slug, max(pipelines.version) AS version
FROM pipelines
WHERE pipelines.tenant_id = %(bound_tenant_id)s::UUID GROUP BY pipelines.slug) AS last ON last.slug = pipelines.slug
AND pipelines.version = last.version
WHERE pipelines.tenant_id = %(bound_tenant_id)s::UUID
AND pipelines.archived_at IS NULL
ORDER BY pipelines.id DESC
LIMIT %(param_1)s::INTEGER
