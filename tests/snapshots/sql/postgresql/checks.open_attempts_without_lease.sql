SELECT found.dispatch_id, found.epoch, found.status, found.dispatch_epoch, count(*) OVER () AS total
FROM (SELECT dispatch_attempts.dispatch_id AS dispatch_id, dispatch_attempts.epoch AS epoch, ai_job_dispatches.status AS status, ai_job_dispatches.epoch AS dispatch_epoch
FROM dispatch_attempts
LEFT OUTER
JOIN ai_job_dispatches ON ai_job_dispatches.id = dispatch_attempts.dispatch_id
WHERE dispatch_attempts.ended_at IS NULL
AND (ai_job_dispatches.id IS NULL OR ai_job_dispatches.status != %(status_1)s::VARCHAR OR dispatch_attempts.epoch != ai_job_dispatches.epoch)) AS found
LIMIT %(param_1)s::INTEGER
