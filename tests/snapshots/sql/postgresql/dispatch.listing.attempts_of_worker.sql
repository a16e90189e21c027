SELECT dispatch_attempts.dispatch_id, dispatch_attempts.epoch, comfyui_workers.worker_id AS worker, dispatch_attempts.incarnation, dispatch_attempts.granted_at, dispatch_attempts.confirmed_at, dispatch_attempts.ended_at, dispatch_attempts.reason, dispatch_attempts.provider_job_id, dispatch_attempts.service_reason, EXISTS (SELECT *
FROM attempt_results
WHERE attempt_results.dispatch_id = dispatch_attempts.dispatch_id
AND attempt_results.epoch = dispatch_attempts.epoch) AS has_result
FROM dispatch_attempts
LEFT OUTER
JOIN comfyui_workers ON comfyui_workers.id = dispatch_attempts.worker_id
WHERE dispatch_attempts.worker_id = %(worker_id_1)s::UUID
ORDER BY dispatch_attempts.granted_at DESC
LIMIT %(param_1)s::INTEGER
