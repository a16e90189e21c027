SELECT workflows.graph
FROM workflows
WHERE workflows.id = %(id_1)s::UUID
