SELECT comfyui_workers.id, comfyui_workers.status, comfyui_workers.fleet_id, (SELECT count(*) AS count_1
FROM ai_job_dispatches
WHERE ai_job_dispatches.worker_id = comfyui_workers.id
AND ai_job_dispatches.status = 'leased') AS leases
FROM comfyui_workers
WHERE comfyui_workers.worker_id = %(worker_id_1)s::VARCHAR
