UPDATE fleet_scaling
SET state=?, generation=(fleet_scaling.generation + ?)
WHERE fleet_scaling.fleet_id = ?
AND fleet_scaling.generation = ?
