SELECT pipeline_runs.id, pipeline_runs.tenant_id
FROM pipeline_runs
WHERE pipeline_runs.score_due_at IS NOT NULL
AND pipeline_runs.score_due_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY pipeline_runs.score_due_at
LIMIT %(param_1)s::INTEGER
