UPDATE fleet_scaling
SET problem=%(problem)s::VARCHAR
WHERE fleet_scaling.fleet_id = %(fleet_id_1)s::UUID
