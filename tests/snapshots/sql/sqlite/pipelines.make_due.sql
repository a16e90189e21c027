UPDATE pipeline_runs
SET advance_due_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), score_due_at=CASE WHEN (CAST(JSON_EXTRACT(pipeline_runs.approval, ?) AS VARCHAR) = ?
AND pipeline_runs.score_due_at IS NULL) THEN (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') ELSE pipeline_runs.score_due_at END
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.id = ?
AND pipeline_runs.status IN (__[POSTCOMPILE_status_1])
