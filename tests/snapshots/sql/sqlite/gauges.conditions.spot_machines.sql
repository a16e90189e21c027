SELECT comfyui_fleets.slug, comfyui_fleets.stage, count(*) AS machines, coalesce(sum(CASE WHEN (fleet_machines.market = ?
AND fleet_machines.ended_at >= ?
AND fleet_machines.end_asked_at IS NULL) THEN ? ELSE ? END), ?) AS lost
FROM fleet_machines
JOIN comfyui_fleets ON comfyui_fleets.id = fleet_machines.fleet_id
WHERE fleet_machines.ended_at IS NULL OR fleet_machines.ended_at >= ? GROUP BY comfyui_fleets.slug, comfyui_fleets.stage
