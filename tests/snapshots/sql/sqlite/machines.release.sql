UPDATE fleet_scaling
SET held_by=?, held_until=?
WHERE fleet_scaling.fleet_id = ?
AND fleet_scaling.held_by = ?
