SELECT comfyui_workers.fleet_id, count(*) AS leased
FROM ai_job_dispatches
JOIN comfyui_workers ON comfyui_workers.id = ai_job_dispatches.worker_id
WHERE ai_job_dispatches.status = 'leased'
AND comfyui_workers.fleet_id IS NOT NULL GROUP BY comfyui_workers.fleet_id
