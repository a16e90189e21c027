SELECT comfyui_workers.id, comfyui_workers.worker_id, comfyui_workflow_fleets.workflow_id, comfyui_workers.providers, comfyui_workers.capability_digest, comfyui_workers.status = ? AS has_left, comfyui_workers.last_seen_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS is_online
FROM (SELECT replace(json_extract(value, '$.workflow_id'), '-', '') AS workflow_id
FROM json_each(?)) AS asked
JOIN workflows ON workflows.id = asked.workflow_id
AND workflows.is_active = 1
JOIN comfyui_workflow_fleets ON comfyui_workflow_fleets.workflow_id = workflows.id
JOIN comfyui_workers ON comfyui_workflow_fleets.fleet_id = comfyui_workers.fleet_id
AND comfyui_workflow_fleets.is_active = 1
WHERE (comfyui_workers.status = ? OR comfyui_workers.status = ?
AND comfyui_workers.drained_at IS NULL)
AND comfyui_workers.last_seen_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
