UPDATE pipelines
SET archived_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE pipelines.tenant_id = ?
AND pipelines.slug = ?
AND pipelines.archived_at IS NULL
