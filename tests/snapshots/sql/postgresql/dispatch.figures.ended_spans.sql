SELECT dispatch_attempts.worker_id, EXTRACT(EPOCH
FROM (dispatch_attempts.granted_at) - (%(param_1)s::TIMESTAMP WITH TIME ZONE))::float8 AS begins_s, EXTRACT(EPOCH
FROM (dispatch_attempts.ended_at) - (%(param_2)s::TIMESTAMP WITH TIME ZONE))::float8 AS ends_s
FROM dispatch_attempts
WHERE dispatch_attempts.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE
ORDER BY dispatch_attempts.ended_at DESC
LIMIT %(param_3)s::INTEGER
