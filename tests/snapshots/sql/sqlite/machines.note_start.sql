UPDATE fleet_machines
SET start_s=?
WHERE fleet_machines.fleet_id = ?
AND fleet_machines.machine_id = ?
AND fleet_machines.start_s IS NULL
