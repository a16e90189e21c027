SELECT workflow_versions.workflow_id, workflow_versions.version, workflow_versions.comfyui_workflow_path, workflow_versions.graph_bytes, workflow_versions.content_hash, workflow_versions.structure_hash, workflow_versions.properties, workflow_versions.output_node, workflow_versions.requirements, workflow_versions.provider, workflow_versions.expected_s, workflow_versions.run_deadline_s, workflow_versions.note, workflow_versions.created_at
FROM workflow_versions
JOIN workflows ON workflow_versions.workflow_id = workflows.id
AND workflow_versions.version = workflows.version
WHERE workflows.id IN (__[POSTCOMPILE_id_1])
