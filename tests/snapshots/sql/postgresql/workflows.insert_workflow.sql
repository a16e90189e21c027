INSERT INTO workflows (id, slug, name, is_active, graph, structure_hash, properties, run_deadline_s, created_at)
VALUES (%(id)s::UUID, %(slug)s::VARCHAR, %(name)s::VARCHAR, %(is_active)s, %(graph)s, %(structure_hash)s::VARCHAR, %(properties)s::JSONB, %(run_deadline_s)s, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING workflows.id, workflows.slug, workflows.name, workflows.is_active, workflows.structure_hash, workflows.properties, workflows.comfyui_workflow_path, workflows.run_deadline_s, workflows.created_at
