SELECT workflows.id, workflows.slug
FROM workflows
JOIN comfyui_workflow_fleets ON comfyui_workflow_fleets.workflow_id = workflows.id
WHERE comfyui_workflow_fleets.fleet_id = %(fleet_id_1)s::UUID
AND comfyui_workflow_fleets.is_active
AND workflows.is_active
