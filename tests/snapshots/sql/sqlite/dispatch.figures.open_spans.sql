SELECT ai_job_dispatches.worker_id, ((julianday(ai_job_dispatches.leased_at) - julianday(?)) * 86400.0) AS begins_s
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = 'leased'
AND ai_job_dispatches.leased_at IS NOT NULL
