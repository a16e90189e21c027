SELECT comfyui_workers.fleet_id, coalesce(ai_job_dispatches.duration_seconds, EXTRACT(EPOCH
FROM (dispatch_attempts.ended_at) - (dispatch_attempts.granted_at))::float8) AS took_s
FROM dispatch_attempts
JOIN comfyui_workers ON comfyui_workers.id = dispatch_attempts.worker_id
JOIN ai_job_dispatches ON ai_job_dispatches.id = dispatch_attempts.dispatch_id
WHERE dispatch_attempts.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE
AND dispatch_attempts.reason = %(reason_1)s::VARCHAR
AND comfyui_workers.fleet_id IS NOT NULL
ORDER BY dispatch_attempts.ended_at DESC
LIMIT %(param_1)s::INTEGER
