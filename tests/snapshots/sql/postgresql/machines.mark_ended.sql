UPDATE fleet_machines
SET ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE fleet_machines.fleet_id = %(fleet_id_1)s::UUID
AND fleet_machines.machine_id IN (SELECT b.machine_id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_machine_id)s::VARCHAR AS jsonb)) AS r(machine_id TEXT)) AS b)
AND fleet_machines.ended_at IS NULL
RETURNING fleet_machines.machine_id
