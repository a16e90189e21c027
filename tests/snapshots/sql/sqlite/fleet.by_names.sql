SELECT comfyui_workers.worker_id, comfyui_workers.status
FROM comfyui_workers
JOIN (SELECT json_extract(value, '$.worker_id') AS worker_id
FROM json_each(?)) AS b ON comfyui_workers.worker_id = b.worker_id
