SELECT dispatch_attempts.dispatch_id, dispatch_attempts.epoch, dispatch_attempts.worker_id, ai_job_dispatches.workflow_id, ((julianday(dispatch_attempts.granted_at) - julianday(?)) * 86400.0) AS begins_s, ((julianday(dispatch_attempts.ended_at) - julianday(?)) * 86400.0) AS ends_s, dispatch_attempts.reason
FROM dispatch_attempts
LEFT OUTER
JOIN ai_job_dispatches ON ai_job_dispatches.id = dispatch_attempts.dispatch_id
WHERE dispatch_attempts.ended_at >= ?
AND dispatch_attempts.ended_at <= ?
AND dispatch_attempts.granted_at <= ?
AND dispatch_attempts.worker_id = ?
ORDER BY dispatch_attempts.ended_at DESC
LIMIT ? OFFSET ?
