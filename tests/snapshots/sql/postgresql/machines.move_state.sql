UPDATE fleet_scaling
SET state=%(state)s::VARCHAR, generation=(fleet_scaling.generation + %(generation_1)s::BIGINT), is_empty=%(is_empty)s, counted_to=%(counted_to)s::TIMESTAMP WITH TIME ZONE, decided_at=%(decided_at)s::TIMESTAMP WITH TIME ZONE
WHERE fleet_scaling.fleet_id = %(fleet_id_1)s::UUID
AND fleet_scaling.generation = %(generation_2)s::BIGINT
