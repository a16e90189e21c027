SELECT pipeline_runs.id
FROM pipeline_runs
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.advance_due_at IS NOT NULL
AND (pipeline_runs.id NOT IN (?))
LIMIT ? OFFSET ?
