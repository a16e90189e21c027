WITH due AS (SELECT ai_job_dispatches.id AS id
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = 'delayed'
AND ai_job_dispatches.run_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY ai_job_dispatches.run_at
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED) UPDATE ai_job_dispatches
SET status=%(status)s::VARCHAR, run_at=%(run_at)s::TIMESTAMP WITH TIME ZONE
WHERE ai_job_dispatches.id IN (SELECT due.id
FROM due)
AND ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
RETURNING ai_job_dispatches.id, ai_job_dispatches.lane
