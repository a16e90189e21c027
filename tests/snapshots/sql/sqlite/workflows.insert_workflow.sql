INSERT INTO workflows (id, slug, name, is_active, structure_hash, properties, comfyui_workflow_path, run_deadline_s, created_at, version, provider, expected_s)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?, ?, ?)
ON CONFLICT DO NOTHING
RETURNING id, slug, name, is_active, structure_hash, properties, comfyui_workflow_path, run_deadline_s, created_at, version, provider, expected_s
