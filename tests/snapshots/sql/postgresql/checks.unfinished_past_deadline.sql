SELECT found.id, found.status, found.created_at, count(*) OVER () AS total
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.status AS status, ai_job_dispatches.created_at AS created_at
FROM ai_job_dispatches
WHERE ai_job_dispatches.finished_at IS NULL
AND ai_job_dispatches.queue_deadline_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) AS found
LIMIT %(param_1)s::INTEGER
