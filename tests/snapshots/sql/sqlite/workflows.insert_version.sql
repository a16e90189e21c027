INSERT INTO workflow_versions (workflow_id, version, comfyui_workflow_path, graph_bytes, content_hash, structure_hash, properties, output_node, requirements, provider, expected_s, run_deadline_s, note, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
