SELECT comfyui_workflow_fleets.workflow_id, comfyui_fleets.slug, comfyui_fleets.stage, comfyui_fleets.scales_from_zero, fleet_inventories.kind, fleet_inventories.providers, fleet_inventories.capability_digest
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_workflow_id)s::VARCHAR AS jsonb)) AS r(workflow_id UUID)) AS asked
JOIN comfyui_workflow_fleets ON comfyui_workflow_fleets.workflow_id = asked.workflow_id
AND comfyui_workflow_fleets.is_active
JOIN comfyui_fleets ON comfyui_fleets.id = comfyui_workflow_fleets.fleet_id
LEFT OUTER
JOIN fleet_inventories ON fleet_inventories.fleet_id = comfyui_fleets.id
AND comfyui_fleets.scales_from_zero
