DELETE
FROM failover_blocks
WHERE NOT (EXISTS (SELECT *
FROM comfyui_workers
WHERE comfyui_workers.id = failover_blocks.worker_id))
