INSERT INTO fleet_machines (fleet_id, machine_id, machine_class, market, zone, launched_at, start_s, end_asked_at, end_reason, ended_at)
VALUES (%(new_fleet_id)s::UUID, %(new_machine_id)s::VARCHAR, %(new_machine_class)s::VARCHAR, %(new_market)s::VARCHAR, %(new_zone)s::VARCHAR, %(new_launched_at)s::TIMESTAMP WITH TIME ZONE, %(start_s)s, %(end_asked_at)s::TIMESTAMP WITH TIME ZONE, %(end_reason)s::VARCHAR, %(ended_at)s::TIMESTAMP WITH TIME ZONE)
ON CONFLICT (fleet_id, machine_id) DO UPDATE
SET ended_at = %(param_1)s::TIMESTAMP WITH TIME ZONE
