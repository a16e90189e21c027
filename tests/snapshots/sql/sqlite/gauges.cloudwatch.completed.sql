SELECT comfyui_workers.fleet_id, coalesce(ai_job_dispatches.duration_seconds, ((julianday(dispatch_attempts.ended_at) - julianday(dispatch_attempts.granted_at)) * 86400.0)) AS took_s
FROM dispatch_attempts
JOIN comfyui_workers ON comfyui_workers.id = dispatch_attempts.worker_id
JOIN ai_job_dispatches ON ai_job_dispatches.id = dispatch_attempts.dispatch_id
WHERE dispatch_attempts.ended_at >= ?
AND dispatch_attempts.reason = ?
AND comfyui_workers.fleet_id IS NOT NULL
ORDER BY dispatch_attempts.ended_at DESC
LIMIT ? OFFSET ?
