SELECT workflows.id, workflows.slug, workflows.version, workflow_versions.provider, workflow_versions.requirements
FROM workflows
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON workflows.id = b.id
JOIN workflow_versions ON workflow_versions.workflow_id = workflows.id
AND workflow_versions.version = workflows.version
