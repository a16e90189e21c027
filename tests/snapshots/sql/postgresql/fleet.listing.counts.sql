SELECT comfyui_workers.status, count(*) AS workers
FROM comfyui_workers GROUP BY comfyui_workers.status
