DELETE
FROM worker_workflows
WHERE worker_workflows.worker_id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
