DELETE
FROM fleet_scaling
WHERE fleet_scaling.fleet_id = ?
AND NOT (EXISTS (SELECT *
FROM fleet_machines
WHERE fleet_machines.fleet_id = ?
AND fleet_machines.ended_at IS NULL))
AND NOT (EXISTS (SELECT *
FROM fleet_launches
WHERE fleet_launches.fleet_id = ?
AND fleet_launches.answered_at IS NULL))
