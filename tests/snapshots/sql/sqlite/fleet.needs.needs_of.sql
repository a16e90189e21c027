SELECT workflows.id, workflows.slug, workflows.version, workflow_versions.provider, workflow_versions.requirements
FROM workflows
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON workflows.id = b.id
JOIN workflow_versions ON workflow_versions.workflow_id = workflows.id
AND workflow_versions.version = workflows.version
