SELECT ai_job_dispatches.id
FROM ai_job_dispatches
JOIN settlements ON settlements.dispatch_id = ai_job_dispatches.id
WHERE ai_job_dispatches.finished_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
AND ai_job_dispatches.settled_at IS NOT NULL
AND settlements.applied_at IS NOT NULL
LIMIT %(param_1)s::INTEGER FOR UPDATE OF ai_job_dispatches SKIP LOCKED
