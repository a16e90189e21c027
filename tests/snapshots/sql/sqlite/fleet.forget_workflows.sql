DELETE
FROM worker_workflows
WHERE worker_workflows.worker_id = ?
