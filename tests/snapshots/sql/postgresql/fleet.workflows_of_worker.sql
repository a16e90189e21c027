SELECT workflows.id, workflows.slug
FROM workflows
JOIN worker_workflows ON worker_workflows.workflow_id = workflows.id
WHERE worker_workflows.worker_id = %(worker_id_1)s::UUID
AND workflows.is_active
