SELECT coalesce(sum(CASE WHEN ended.is_counted THEN ? ELSE ? END), ?) AS counted, coalesce(sum(CASE WHEN ended.is_failed THEN ? ELSE ? END), ?) AS failed, coalesce(sum(CASE WHEN (ended.waited_s IS NOT NULL) THEN ? ELSE ? END), ?) AS started, coalesce(sum(CASE WHEN (ended.waited_s > ?) THEN ? ELSE ? END), ?) AS late, coalesce(sum(CASE WHEN (ended.is_counted = 1
AND ended.is_recent = 1) THEN ? ELSE ? END), ?) AS counted_recent, coalesce(sum(CASE WHEN (ended.is_failed = 1
AND ended.is_recent = 1) THEN ? ELSE ? END), ?) AS failed_recent, coalesce(sum(CASE WHEN (ended.waited_s IS NOT NULL
AND ended.is_recent = 1) THEN ? ELSE ? END), ?) AS started_recent, coalesce(sum(CASE WHEN (ended.waited_s > ?
AND ended.is_recent = 1) THEN ? ELSE ? END), ?) AS late_recent
FROM (SELECT settlements.created_at >= ? AS is_recent, settlements.outcome != ?
AND (coalesce(ai_job_dispatches.error_class, ?) NOT IN (__[POSTCOMPILE_coalesce_10])) AS is_counted, settlements.outcome != ?
AND (coalesce(ai_job_dispatches.error_class, ?) NOT IN (__[POSTCOMPILE_coalesce_12]))
AND settlements.outcome = ? AS is_failed, ((julianday((SELECT min(dispatch_attempts.granted_at) AS min_1
FROM dispatch_attempts
WHERE dispatch_attempts.dispatch_id = ai_job_dispatches.id)) - julianday(ai_job_dispatches.created_at)) * 86400.0) AS waited_s
FROM settlements
JOIN ai_job_dispatches ON ai_job_dispatches.id = settlements.dispatch_id
WHERE settlements.created_at >= ?) AS ended
