SELECT worker_workflows.worker_id, worker_workflows.workflow_id
FROM worker_workflows
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON worker_workflows.worker_id = b.id
