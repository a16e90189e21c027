INSERT INTO worker_workflows (worker_id, workflow_id)
VALUES (%(worker_id)s::UUID, %(workflow_id)s::UUID)
ON CONFLICT DO NOTHING
