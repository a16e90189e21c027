SELECT DISTINCT ai_jobs.webhook_endpoint_id
FROM ai_jobs
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON ai_jobs.webhook_endpoint_id = b.id
WHERE ai_jobs.status IN (__[POSTCOMPILE_active])
