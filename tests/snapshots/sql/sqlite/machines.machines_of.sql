SELECT fleet_machines.fleet_id, fleet_machines.machine_id, fleet_machines.machine_class, fleet_machines.market, fleet_machines.zone, fleet_machines.launched_at, fleet_machines.start_s, fleet_machines.end_asked_at, fleet_machines.end_reason, fleet_machines.ended_at
FROM fleet_machines
WHERE fleet_machines.fleet_id = ?
AND fleet_machines.ended_at IS NULL
