SELECT comfyui_workflow_fleets.workflow_id, comfyui_workflow_fleets.fleet_id
FROM comfyui_workflow_fleets
WHERE comfyui_workflow_fleets.workflow_id IN (__[POSTCOMPILE_workflow_id_1])
AND comfyui_workflow_fleets.is_active = 1
