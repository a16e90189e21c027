SELECT fleet_machines.start_s
FROM fleet_machines
WHERE fleet_machines.fleet_id = %(fleet_id_1)s::UUID
AND fleet_machines.start_s IS NOT NULL
ORDER BY fleet_machines.launched_at DESC
LIMIT %(param_1)s::INTEGER
