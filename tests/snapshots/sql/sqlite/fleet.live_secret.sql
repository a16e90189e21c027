SELECT fleet_secrets.id, fleet_secrets.name, fleet_secrets.fleet_id, comfyui_fleets.slug || ? || comfyui_fleets.stage AS fleet, fleet_secrets.allows_workflows, fleet_secrets.retired_at, fleet_secrets.created_at
FROM fleet_secrets
LEFT OUTER
JOIN comfyui_fleets ON comfyui_fleets.id = fleet_secrets.fleet_id
WHERE fleet_secrets.secret_hash = ?
AND fleet_secrets.retired_at IS NULL
