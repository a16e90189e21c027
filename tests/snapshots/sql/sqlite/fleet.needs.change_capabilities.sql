UPDATE comfyui_workers
SET capabilities=?, capability_digest=?
WHERE comfyui_workers.id = ?
AND comfyui_workers.incarnation = ?
RETURNING id
