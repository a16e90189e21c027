UPDATE workflows
SET is_active=?
WHERE workflows.id = ?
RETURNING id, slug, name, is_active, structure_hash, properties, comfyui_workflow_path, run_deadline_s, created_at, version, provider, expected_s
