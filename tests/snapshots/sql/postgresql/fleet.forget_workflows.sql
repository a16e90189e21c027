DELETE
FROM worker_workflows
WHERE worker_workflows.worker_id = %(worker_id_1)s::UUID
