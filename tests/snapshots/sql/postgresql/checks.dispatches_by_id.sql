SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.status, ai_job_dispatches.done_epoch, ai_job_dispatches.settled_at IS NOT NULL AS settled
FROM ai_job_dispatches
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON ai_job_dispatches.id = b.id
