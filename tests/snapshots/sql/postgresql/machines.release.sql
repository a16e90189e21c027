UPDATE fleet_scaling
SET held_by=%(held_by)s::VARCHAR, held_until=%(held_until)s::TIMESTAMP WITH TIME ZONE
WHERE fleet_scaling.fleet_id = %(fleet_id_1)s::UUID
AND fleet_scaling.held_by = %(held_by_1)s::VARCHAR
