SELECT comfyui_fleets.id, comfyui_fleets.slug, comfyui_fleets.stage, comfyui_fleets.name, comfyui_fleets.created_at
FROM comfyui_fleets
WHERE comfyui_fleets.id = ?
