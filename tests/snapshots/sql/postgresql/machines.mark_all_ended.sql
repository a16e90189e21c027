UPDATE fleet_machines
SET ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE fleet_machines.fleet_id = %(fleet_id_1)s::UUID
AND fleet_machines.ended_at IS NULL
RETURNING fleet_machines.machine_id
