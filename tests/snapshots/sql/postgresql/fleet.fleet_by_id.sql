SELECT comfyui_fleets.id, comfyui_fleets.slug, comfyui_fleets.stage, comfyui_fleets.name, comfyui_fleets.created_at, comfyui_fleets.scales_from_zero
FROM comfyui_fleets
WHERE comfyui_fleets.id = %(id_1)s::UUID
