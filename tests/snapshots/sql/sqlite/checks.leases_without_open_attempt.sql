SELECT found.id, found.epoch, found.worker_id, count(*) OVER () AS total
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.epoch AS epoch, ai_job_dispatches.worker_id AS worker_id
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = ?
AND NOT (EXISTS (SELECT dispatch_attempts.epoch
FROM dispatch_attempts
WHERE dispatch_attempts.dispatch_id = ai_job_dispatches.id
AND dispatch_attempts.epoch = ai_job_dispatches.epoch
AND dispatch_attempts.ended_at IS NULL))) AS found
LIMIT ? OFFSET ?
