UPDATE fleet_machines
SET end_reason=%(end_reason)s::VARCHAR
WHERE fleet_machines.fleet_id = %(fleet_id_1)s::UUID
AND fleet_machines.machine_id = %(machine_id_1)s::VARCHAR
AND fleet_machines.end_asked_at IS NULL
