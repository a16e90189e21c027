SELECT fleet_launches.problem
FROM fleet_launches
WHERE fleet_launches.fleet_id = %(fleet_id_1)s::UUID
AND fleet_launches.answered_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY fleet_launches.answered_at DESC, fleet_launches.ordinal DESC
LIMIT %(param_1)s::INTEGER
