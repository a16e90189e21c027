DELETE
FROM comfyui_workers
WHERE comfyui_workers.id = ?
