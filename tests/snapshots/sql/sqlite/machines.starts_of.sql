SELECT fleet_machines.start_s
FROM fleet_machines
WHERE fleet_machines.fleet_id = ?
AND fleet_machines.start_s IS NOT NULL
ORDER BY fleet_machines.launched_at DESC
LIMIT ? OFFSET ?
