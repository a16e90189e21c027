SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.user_id, ai_jobs.workflow_id, ai_jobs.provider, ai_jobs.status, ai_jobs.expected_s, ai_jobs.error_message, ai_jobs.error_class, ai_jobs.created_at, ai_jobs.started_at, ai_jobs.completed_at, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS read_at
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
JOIN ai_jobs ON ai_jobs.id = b.id
