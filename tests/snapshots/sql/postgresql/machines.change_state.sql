UPDATE fleet_scaling
SET state=%(state)s::VARCHAR, generation=(fleet_scaling.generation + %(generation_1)s::BIGINT)
WHERE fleet_scaling.fleet_id = %(fleet_id_1)s::UUID
AND fleet_scaling.generation = %(generation_2)s::BIGINT
