DELETE
FROM fleet_scaling
WHERE fleet_scaling.fleet_id = %(fleet_id_1)s::UUID
AND NOT (EXISTS (SELECT *
FROM fleet_machines
WHERE fleet_machines.fleet_id = %(fleet_id_2)s::UUID
AND fleet_machines.ended_at IS NULL))
AND NOT (EXISTS (SELECT *
FROM fleet_launches
WHERE fleet_launches.fleet_id = %(fleet_id_3)s::UUID
AND fleet_launches.answered_at IS NULL))
