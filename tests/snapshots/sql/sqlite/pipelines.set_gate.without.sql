UPDATE pipeline_run_steps
SET approved_at=?, approved_by=?, top=?
WHERE pipeline_run_steps.tenant_id = ?
AND pipeline_run_steps.run_id = ?
AND pipeline_run_steps.position = ?
