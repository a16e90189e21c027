SELECT worker_workflows.worker_id, worker_workflows.workflow_id
FROM worker_workflows
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON worker_workflows.worker_id = b.id
