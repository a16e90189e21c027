SELECT fleet_scaling.fleet_id, fleet_scaling.settings, fleet_scaling.max_workers, fleet_scaling.adapter, fleet_scaling.adapter_settings, fleet_scaling.state, fleet_scaling.generation, fleet_scaling.is_empty, fleet_scaling.counted_to, fleet_scaling.decided_at, fleet_scaling.held_by, fleet_scaling.held_until, fleet_scaling.problem, fleet_scaling.updated_at
FROM fleet_scaling
WHERE fleet_scaling.fleet_id = ?
