SELECT pipeline_runs.id, pipeline_runs.status, pipeline_runs.status_reason, pipeline_runs.in_flight, pipeline_runs.jobs_started, pipeline_runs.jobs_max, pipeline_runs.tokens_spent, pipeline_runs.tokens_max, pipeline_runs.ended_at
FROM pipeline_runs
WHERE pipeline_runs.tenant_id = ?
AND pipeline_runs.user_id = ?
ORDER BY pipeline_runs.id DESC
LIMIT ? OFFSET ?
