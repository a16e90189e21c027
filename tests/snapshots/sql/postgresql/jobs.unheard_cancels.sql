SELECT ai_jobs.id
FROM ai_jobs
WHERE ai_jobs.cancel_requested_at IS NOT NULL
AND ai_jobs.completed_at IS NULL
AND ai_jobs.cancel_requested_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY ai_jobs.cancel_requested_at
LIMIT %(param_1)s::INTEGER
