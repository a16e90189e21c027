SELECT ai_job_dispatches.id, ai_job_dispatches.worker_id
FROM ai_job_dispatches
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(worker_id UUID, incarnation BIGINT)) AS b ON ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = 'leased'
WHERE ai_job_dispatches.cancel_requested_at IS NOT NULL
