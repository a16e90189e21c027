SELECT fleet_decisions.decided_at, fleet_decisions.arrived_gpu_s
FROM fleet_decisions
WHERE fleet_decisions.fleet_id = %(fleet_id_1)s::UUID
AND fleet_decisions.decided_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY fleet_decisions.decided_at
