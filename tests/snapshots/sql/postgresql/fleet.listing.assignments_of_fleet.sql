SELECT workflows.id, workflows.slug, comfyui_workflow_fleets.is_active, workflows.is_active AS workflow_is_active
FROM workflows
JOIN comfyui_workflow_fleets ON comfyui_workflow_fleets.workflow_id = workflows.id
WHERE comfyui_workflow_fleets.fleet_id = %(fleet_id_1)s::UUID
ORDER BY workflows.slug
