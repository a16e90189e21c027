SELECT b.n, comfyui_workers.fleet_id, comfyui_workers.status, comfyui_workers.incarnation, comfyui_workers.token_hash, comfyui_workers.capability_digest
FROM comfyui_workers
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, n INTEGER)) AS b ON comfyui_workers.id = b.id
