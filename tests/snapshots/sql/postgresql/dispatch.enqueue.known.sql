SELECT ai_job_dispatches.id
FROM ai_job_dispatches
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON ai_job_dispatches.id = b.id
