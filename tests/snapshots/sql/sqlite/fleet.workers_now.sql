SELECT b.n, comfyui_workers.fleet_id, comfyui_workers.status, comfyui_workers.incarnation, comfyui_workers.token_hash, comfyui_workers.capability_digest
FROM comfyui_workers
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.n') AS n
FROM json_each(?)) AS b ON comfyui_workers.id = b.id
