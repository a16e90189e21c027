DELETE
FROM comfyui_workers
WHERE comfyui_workers.id = %(id_1)s::UUID
