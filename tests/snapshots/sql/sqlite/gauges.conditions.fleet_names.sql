SELECT comfyui_fleets.id, comfyui_fleets.slug, comfyui_fleets.stage
FROM comfyui_fleets
