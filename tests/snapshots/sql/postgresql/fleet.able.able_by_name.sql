SELECT comfyui_workers.id, comfyui_workers.worker_id, worker_workflows.workflow_id, comfyui_workers.providers, comfyui_workers.capability_digest, comfyui_workers.status = %(status_1)s::VARCHAR AS has_left, comfyui_workers.last_seen_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS is_online
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_workflow_id)s::VARCHAR AS jsonb)) AS r(workflow_id UUID)) AS asked
JOIN workflows ON workflows.id = asked.workflow_id
AND workflows.is_active
JOIN worker_workflows ON worker_workflows.workflow_id = workflows.id
JOIN comfyui_workers ON worker_workflows.worker_id = comfyui_workers.id
WHERE (comfyui_workers.status = %(status_2)s::VARCHAR OR comfyui_workers.status = %(status_1)s::VARCHAR
AND comfyui_workers.drained_at IS NULL)
AND comfyui_workers.last_seen_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
