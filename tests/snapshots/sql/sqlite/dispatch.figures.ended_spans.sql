SELECT dispatch_attempts.worker_id, ((julianday(dispatch_attempts.granted_at) - julianday(?)) * 86400.0) AS begins_s, ((julianday(dispatch_attempts.ended_at) - julianday(?)) * 86400.0) AS ends_s
FROM dispatch_attempts
WHERE dispatch_attempts.ended_at >= ?
ORDER BY dispatch_attempts.ended_at DESC
LIMIT ? OFFSET ?
