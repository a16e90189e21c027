SELECT pipeline_runs.id, pipeline_runs.tenant_id
FROM pipeline_runs
WHERE pipeline_runs.score_due_at IS NOT NULL
AND pipeline_runs.score_due_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY pipeline_runs.score_due_at
LIMIT ? OFFSET ?
