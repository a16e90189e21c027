SELECT fleet_scaling.fleet_id, comfyui_fleets.slug, comfyui_fleets.stage, fleet_scaling.adapter, fleet_scaling.adapter_settings
FROM fleet_scaling
JOIN comfyui_fleets ON comfyui_fleets.id = fleet_scaling.fleet_id
