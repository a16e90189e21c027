SELECT count(*) AS ended, coalesce(sum(CASE WHEN (dispatch_attempts.reason = %(reason_1)s::VARCHAR) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END), %(coalesce_1)s::INTEGER) AS expired
FROM dispatch_attempts
WHERE dispatch_attempts.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE
