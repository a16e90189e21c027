SELECT coalesce(sum(CASE WHEN ended.is_counted THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END), %(coalesce_1)s::INTEGER) AS counted, coalesce(sum(CASE WHEN ended.is_failed THEN %(param_3)s::INTEGER ELSE %(param_4)s::INTEGER END), %(coalesce_2)s::INTEGER) AS failed, coalesce(sum(CASE WHEN (ended.waited_s IS NOT NULL) THEN %(param_5)s::INTEGER ELSE %(param_6)s::INTEGER END), %(coalesce_3)s::INTEGER) AS started, coalesce(sum(CASE WHEN (ended.waited_s > %(waited_s_1)s) THEN %(param_7)s::INTEGER ELSE %(param_8)s::INTEGER END), %(coalesce_4)s::INTEGER) AS late, coalesce(sum(CASE WHEN (ended.is_counted
AND ended.is_recent) THEN %(param_9)s::INTEGER ELSE %(param_10)s::INTEGER END), %(coalesce_5)s::INTEGER) AS counted_recent, coalesce(sum(CASE WHEN (ended.is_failed
AND ended.is_recent) THEN %(param_11)s::INTEGER ELSE %(param_12)s::INTEGER END), %(coalesce_6)s::INTEGER) AS failed_recent, coalesce(sum(CASE WHEN (ended.waited_s IS NOT NULL
AND ended.is_recent) THEN %(param_13)s::INTEGER ELSE %(param_14)s::INTEGER END), %(coalesce_7)s::INTEGER) AS started_recent, coalesce(sum(CASE WHEN (ended.waited_s > %(waited_s_1)s
AND ended.is_recent) THEN %(param_15)s::INTEGER ELSE %(param_16)s::INTEGER END), %(coalesce_8)s::INTEGER) AS late_recent
FROM (SELECT settlements.created_at >= %(param_17)s::TIMESTAMP WITH TIME ZONE AS is_recent, settlements.outcome != %(outcome_1)s::VARCHAR
AND (coalesce(ai_job_dispatches.error_class, %(coalesce_9)s::VARCHAR) NOT IN (__[POSTCOMPILE_coalesce_10])) AS is_counted, settlements.outcome != %(outcome_2)s::VARCHAR
AND (coalesce(ai_job_dispatches.error_class, %(coalesce_11)s::VARCHAR) NOT IN (__[POSTCOMPILE_coalesce_12]))
AND settlements.outcome = %(outcome_3)s::VARCHAR AS is_failed, EXTRACT(EPOCH
FROM ((SELECT min(dispatch_attempts.granted_at) AS min_1
FROM dispatch_attempts
WHERE dispatch_attempts.dispatch_id = ai_job_dispatches.id)) - (ai_job_dispatches.created_at))::float8 AS waited_s
FROM settlements
JOIN ai_job_dispatches ON ai_job_dispatches.id = settlements.dispatch_id
WHERE settlements.created_at >= %(created_at_1)s::TIMESTAMP WITH TIME ZONE) AS ended
