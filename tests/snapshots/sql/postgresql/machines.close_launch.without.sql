UPDATE fleet_launches
SET answered_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), launched=%(launched)s::INTEGER, problem=%(problem)s::VARCHAR
WHERE fleet_launches.decision_id = %(decision_id_1)s::UUID
AND fleet_launches.ordinal = %(ordinal_1)s::INTEGER
AND fleet_launches.answered_at IS NULL
RETURNING fleet_launches.token
