SELECT comfyui_workflow_fleets.fleet_id, comfyui_workflow_fleets.workflow_id
FROM comfyui_workflow_fleets
JOIN workflows ON workflows.id = comfyui_workflow_fleets.workflow_id
AND workflows.is_active = 1
WHERE comfyui_workflow_fleets.is_active = 1
