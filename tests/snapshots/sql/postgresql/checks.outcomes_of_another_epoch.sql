SELECT found.id, found.status, found.epoch, found.done_epoch, count(*) OVER () AS total
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.status AS status, ai_job_dispatches.epoch AS epoch, ai_job_dispatches.done_epoch AS done_epoch
FROM ai_job_dispatches
WHERE ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.attempts > %(attempts_1)s::INTEGER
AND ai_job_dispatches.done_epoch IS DISTINCT
FROM ai_job_dispatches.epoch) AS found
LIMIT %(param_1)s::INTEGER
