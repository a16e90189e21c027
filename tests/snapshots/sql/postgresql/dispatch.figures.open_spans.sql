SELECT ai_job_dispatches.worker_id, EXTRACT(EPOCH
FROM (ai_job_dispatches.leased_at) - (%(param_1)s::TIMESTAMP WITH TIME ZONE))::float8 AS begins_s
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = 'leased'
AND ai_job_dispatches.leased_at IS NOT NULL
