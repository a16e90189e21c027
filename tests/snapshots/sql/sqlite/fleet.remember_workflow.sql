INSERT INTO worker_workflows (worker_id, workflow_id)
VALUES (?, ?)
ON CONFLICT DO NOTHING
