SELECT comfyui_fleets.slug, comfyui_fleets.stage, count(*) AS machines, coalesce(sum(CASE WHEN (fleet_machines.market = %(market_1)s::VARCHAR
AND fleet_machines.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE
AND fleet_machines.end_asked_at IS NULL) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END), %(coalesce_1)s::INTEGER) AS lost
FROM fleet_machines
JOIN comfyui_fleets ON comfyui_fleets.id = fleet_machines.fleet_id
WHERE fleet_machines.ended_at IS NULL OR fleet_machines.ended_at >= %(ended_at_2)s::TIMESTAMP WITH TIME ZONE GROUP BY comfyui_fleets.slug, comfyui_fleets.stage
