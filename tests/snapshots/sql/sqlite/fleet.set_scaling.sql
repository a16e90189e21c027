UPDATE comfyui_fleets
SET scales_from_zero=?
WHERE comfyui_fleets.id = ?
RETURNING id, slug, stage, name, created_at, scales_from_zero
