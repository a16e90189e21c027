SELECT count(*) AS ended, coalesce(sum(CASE WHEN (dispatch_attempts.reason = ?) THEN ? ELSE ? END), ?) AS expired
FROM dispatch_attempts
WHERE dispatch_attempts.ended_at >= ?
