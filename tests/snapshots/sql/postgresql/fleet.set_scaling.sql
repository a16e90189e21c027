UPDATE comfyui_fleets
SET scales_from_zero=%(scales_from_zero)s
WHERE comfyui_fleets.id = %(id_1)s::UUID
RETURNING comfyui_fleets.id, comfyui_fleets.slug, comfyui_fleets.stage, comfyui_fleets.name, comfyui_fleets.created_at, comfyui_fleets.scales_from_zero
