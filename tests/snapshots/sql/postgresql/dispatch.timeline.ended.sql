SELECT dispatch_attempts.dispatch_id, dispatch_attempts.epoch, dispatch_attempts.worker_id, ai_job_dispatches.workflow_id, EXTRACT(EPOCH
FROM (dispatch_attempts.granted_at) - (%(param_1)s::TIMESTAMP WITH TIME ZONE))::float8 AS begins_s, EXTRACT(EPOCH
FROM (dispatch_attempts.ended_at) - (%(param_2)s::TIMESTAMP WITH TIME ZONE))::float8 AS ends_s, dispatch_attempts.reason
FROM dispatch_attempts
LEFT OUTER
JOIN ai_job_dispatches ON ai_job_dispatches.id = dispatch_attempts.dispatch_id
WHERE dispatch_attempts.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE
AND dispatch_attempts.ended_at <= %(ended_at_2)s::TIMESTAMP WITH TIME ZONE
AND dispatch_attempts.granted_at <= %(granted_at_1)s::TIMESTAMP WITH TIME ZONE
AND dispatch_attempts.worker_id = %(worker_id_1)s::UUID
ORDER BY dispatch_attempts.ended_at DESC
LIMIT %(param_3)s::INTEGER
