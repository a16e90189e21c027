SELECT comfyui_workflow_fleets.workflow_id, comfyui_fleets.slug, comfyui_fleets.stage, comfyui_fleets.scales_from_zero, fleet_inventories.kind, fleet_inventories.providers, fleet_inventories.capability_digest
FROM (SELECT replace(json_extract(value, '$.workflow_id'), '-', '') AS workflow_id
FROM json_each(?)) AS asked
JOIN comfyui_workflow_fleets ON comfyui_workflow_fleets.workflow_id = asked.workflow_id
AND comfyui_workflow_fleets.is_active = 1
JOIN comfyui_fleets ON comfyui_fleets.id = comfyui_workflow_fleets.fleet_id
LEFT OUTER
JOIN fleet_inventories ON fleet_inventories.fleet_id = comfyui_fleets.id
AND comfyui_fleets.scales_from_zero = 1
