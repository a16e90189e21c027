UPDATE pipeline_runs
SET score_due_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.id = ?
