UPDATE fleet_launches
SET answered_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), launched=%(launched)s::INTEGER, problem=%(problem)s::VARCHAR
WHERE fleet_launches.fleet_id = %(fleet_id_1)s::UUID
AND fleet_launches.answered_at IS NULL
