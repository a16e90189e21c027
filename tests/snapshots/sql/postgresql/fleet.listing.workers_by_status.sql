SELECT comfyui_workers.status, count(*) AS workers
FROM comfyui_workers
WHERE comfyui_workers.fleet_id = %(fleet_id_1)s::UUID GROUP BY comfyui_workers.status
