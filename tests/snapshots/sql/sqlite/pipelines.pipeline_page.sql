SELECT pipelines.id, pipelines.tenant_id, pipelines.slug, pipelines.version, pipelines.name, pipelines.description, pipelines.steps, pipelines.created_by, pipelines.created_at, pipelines.archived_at
FROM pipelines
JOIN (SELECT pipelines.slug AS slug, max(pipelines.version) AS version
FROM pipelines
WHERE pipelines.tenant_id = ? GROUP BY pipelines.slug) AS last ON last.slug = pipelines.slug
AND pipelines.version = last.version
WHERE pipelines.tenant_id = ?
AND pipelines.archived_at IS NULL
AND pipelines.id < ?
ORDER BY pipelines.id DESC
LIMIT ? OFFSET ?
