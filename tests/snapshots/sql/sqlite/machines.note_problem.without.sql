UPDATE fleet_scaling
SET problem=?
WHERE fleet_scaling.fleet_id = ?
