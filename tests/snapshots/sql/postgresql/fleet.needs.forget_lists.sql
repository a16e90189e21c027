DELETE
FROM capability_lists
WHERE NOT (EXISTS (SELECT *
FROM comfyui_workers
WHERE comfyui_workers.capability_digest = capability_lists.digest))
