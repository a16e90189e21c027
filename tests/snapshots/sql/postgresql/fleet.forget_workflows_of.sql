DELETE
FROM worker_workflows
WHERE worker_workflows.worker_id IN (SELECT b.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b)
