INSERT INTO comfyui_fleets (id, slug, stage, name, created_at, scales_from_zero)
VALUES (?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?)
ON CONFLICT DO NOTHING
RETURNING id, slug, stage, name, created_at, scales_from_zero
