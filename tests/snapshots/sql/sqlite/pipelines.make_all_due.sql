UPDATE pipeline_runs
SET advance_due_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.status IN (__[POSTCOMPILE_status_1])
AND pipeline_runs.advance_due_at IS NULL
