SELECT dispatch_attempts.dispatch_id, dispatch_attempts.epoch, dispatch_attempts.worker_id, ai_job_dispatches.workflow_id, EXTRACT(EPOCH
FROM (dispatch_attempts.granted_at) - (%(param_1)s::TIMESTAMP WITH TIME ZONE))::float8 AS begins_s, NULL AS ends_s, dispatch_attempts.reason
FROM ai_job_dispatches
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = ai_job_dispatches.id
AND dispatch_attempts.epoch = ai_job_dispatches.epoch
WHERE ai_job_dispatches.status = 'leased'
AND dispatch_attempts.ended_at IS NULL
AND dispatch_attempts.granted_at <= %(granted_at_1)s::TIMESTAMP WITH TIME ZONE
AND ai_job_dispatches.worker_id = %(worker_id_1)s::UUID
LIMIT %(param_2)s::INTEGER
