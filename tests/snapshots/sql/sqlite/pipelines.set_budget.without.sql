UPDATE pipeline_runs
SET
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.id = ?
