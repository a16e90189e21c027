UPDATE pipeline_runs
SET tokens_spent=(pipeline_runs.tokens_spent + ?), jobs_started=(pipeline_runs.jobs_started + ?), in_flight=(pipeline_runs.in_flight + ?), advance_due_at=CASE WHEN (pipeline_runs.status IN (__[POSTCOMPILE_status_1])) THEN (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') ELSE pipeline_runs.advance_due_at END, score_due_at=CASE WHEN (pipeline_runs.status IN (__[POSTCOMPILE_status_1])) THEN CASE WHEN (CAST(JSON_EXTRACT(pipeline_runs.approval, ?) AS VARCHAR) = ?
AND pipeline_runs.score_due_at IS NULL) THEN (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') ELSE pipeline_runs.score_due_at END ELSE pipeline_runs.score_due_at END
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.id = ?
