SELECT workflows.id, workflows.version
FROM workflows
WHERE workflows.is_active = 1
