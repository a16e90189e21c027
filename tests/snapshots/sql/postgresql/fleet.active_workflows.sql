SELECT workflows.id
FROM workflows
WHERE workflows.is_active
