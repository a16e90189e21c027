SELECT FLOOR(EXTRACT(EPOCH
FROM (dispatch_attempts.ended_at) - (%(param_1)s::TIMESTAMP WITH TIME ZONE))::float8 / CAST(%(param_2)s AS FLOAT))::int AS stretch, dispatch_attempts.reason, count(*) AS attempts
FROM dispatch_attempts
WHERE dispatch_attempts.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE GROUP BY FLOOR(EXTRACT(EPOCH
FROM (dispatch_attempts.ended_at) - (%(param_1)s::TIMESTAMP WITH TIME ZONE))::float8 / CAST(%(param_2)s AS FLOAT))::int, dispatch_attempts.reason
