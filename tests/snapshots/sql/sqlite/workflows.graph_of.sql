SELECT workflows.graph
FROM workflows
WHERE workflows.id = ?
