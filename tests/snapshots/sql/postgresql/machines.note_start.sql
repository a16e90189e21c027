UPDATE fleet_machines
SET start_s=%(start_s)s
WHERE fleet_machines.fleet_id = %(fleet_id_1)s::UUID
AND fleet_machines.machine_id = %(machine_id_1)s::VARCHAR
AND fleet_machines.start_s IS NULL
