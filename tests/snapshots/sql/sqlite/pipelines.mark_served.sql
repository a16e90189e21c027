UPDATE pipeline_runs
SET tokens_spent=(pipeline_runs.tokens_spent + ?), jobs_started=(pipeline_runs.jobs_started + ?), in_flight=(pipeline_runs.in_flight + ?), last_turn=?, advance_due_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.id = ?
