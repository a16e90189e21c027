SELECT comfyui_workers.fleet_id, dispatch_attempts.reason, count(*) AS attempts
FROM dispatch_attempts
JOIN comfyui_workers ON comfyui_workers.id = dispatch_attempts.worker_id
WHERE dispatch_attempts.ended_at >= ?
AND comfyui_workers.fleet_id IS NOT NULL GROUP BY comfyui_workers.fleet_id, dispatch_attempts.reason
