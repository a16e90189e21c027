UPDATE fleet_machines
SET end_reason=?
WHERE fleet_machines.fleet_id = ?
AND fleet_machines.machine_id = ?
AND fleet_machines.end_asked_at IS NULL
