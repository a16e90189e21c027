SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.user_id, ai_jobs.workflow_id, ai_jobs.provider, ai_jobs.status, ai_jobs.expected_s, ai_jobs.error_message, ai_jobs.error_class, ai_jobs.created_at, ai_jobs.started_at, ai_jobs.completed_at, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS read_at
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
JOIN ai_jobs ON ai_jobs.id = b.id
