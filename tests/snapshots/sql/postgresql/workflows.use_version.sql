UPDATE workflows
SET structure_hash=%(structure_hash)s::VARCHAR, properties=%(properties)s::JSONB, comfyui_workflow_path=%(comfyui_workflow_path)s::VARCHAR, run_deadline_s=%(run_deadline_s)s, version=%(version)s::INTEGER, provider=%(provider)s::VARCHAR, expected_s=%(expected_s)s
WHERE workflows.id = %(id_1)s::UUID
RETURNING workflows.id, workflows.slug, workflows.name, workflows.is_active, workflows.structure_hash, workflows.properties, workflows.comfyui_workflow_path, workflows.run_deadline_s, workflows.created_at, workflows.version, workflows.provider, workflows.expected_s
