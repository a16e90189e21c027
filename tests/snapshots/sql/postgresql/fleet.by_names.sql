SELECT comfyui_workers.worker_id, comfyui_workers.status
FROM comfyui_workers
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_worker_id)s::VARCHAR AS jsonb)) AS r(worker_id TEXT)) AS b ON comfyui_workers.worker_id = b.worker_id
