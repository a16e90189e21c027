SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.status
FROM ai_jobs
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON ai_jobs.id = b.id
