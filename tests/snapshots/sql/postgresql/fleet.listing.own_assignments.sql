SELECT workflows.id, workflows.slug, true AS is_active, workflows.is_active AS workflow_is_active
FROM workflows
JOIN worker_workflows ON worker_workflows.workflow_id = workflows.id
WHERE worker_workflows.worker_id = %(worker_id_1)s::UUID
ORDER BY workflows.slug
