INSERT INTO comfyui_fleets (id, slug, stage, name, created_at, scales_from_zero)
VALUES (%(id)s::UUID, %(slug)s::VARCHAR, %(stage)s::VARCHAR, %(name)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), %(scales_from_zero)s)
ON CONFLICT DO NOTHING
RETURNING comfyui_fleets.id, comfyui_fleets.slug, comfyui_fleets.stage, comfyui_fleets.name, comfyui_fleets.created_at, comfyui_fleets.scales_from_zero
