SELECT comfyui_workers.status, count(*) AS workers
FROM comfyui_workers
WHERE comfyui_workers.fleet_id = ? GROUP BY comfyui_workers.status
