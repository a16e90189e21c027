UPDATE fleet_scaling
SET state=?, generation=(fleet_scaling.generation + ?), is_empty=?, counted_to=?, decided_at=?
WHERE fleet_scaling.fleet_id = ?
AND fleet_scaling.generation = ?
