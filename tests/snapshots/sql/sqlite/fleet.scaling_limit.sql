SELECT fleet_scaling.max_workers, fleet_machines.machine_id, fleet_machines.end_asked_at, fleet_machines.end_reason
FROM fleet_scaling
LEFT OUTER
JOIN fleet_machines ON fleet_machines.fleet_id = fleet_scaling.fleet_id
AND fleet_machines.machine_id = ?
WHERE fleet_scaling.fleet_id = ?
