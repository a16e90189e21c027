INSERT INTO workflows (id, slug, name, is_active, structure_hash, properties, comfyui_workflow_path, run_deadline_s, created_at, version, provider, expected_s)
VALUES (%(id)s::UUID, %(slug)s::VARCHAR, %(name)s::VARCHAR, %(is_active)s, %(structure_hash)s::VARCHAR, %(properties)s::JSONB, %(comfyui_workflow_path)s::VARCHAR, %(run_deadline_s)s, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), %(version)s::INTEGER, %(provider)s::VARCHAR, %(expected_s)s)
ON CONFLICT DO NOTHING
RETURNING workflows.id, workflows.slug, workflows.name, workflows.is_active, workflows.structure_hash, workflows.properties, workflows.comfyui_workflow_path, workflows.run_deadline_s, workflows.created_at, workflows.version, workflows.provider, workflows.expected_s
