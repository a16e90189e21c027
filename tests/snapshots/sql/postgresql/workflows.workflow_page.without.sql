SELECT workflows.id, workflows.slug, workflows.name, workflows.is_active, workflows.structure_hash, workflows.properties, workflows.comfyui_workflow_path, workflows.run_deadline_s, workflows.created_at, workflows.version, workflows.provider, workflows.expected_s
FROM workflows
ORDER BY workflows.id DESC
LIMIT %(param_1)s::INTEGER
