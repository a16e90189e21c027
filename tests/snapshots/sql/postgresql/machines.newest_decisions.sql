SELECT fleet_scaling.fleet_id, fleet_scaling.max_workers, fleet_scaling.decided_at, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (fleet_scaling.decided_at))::float8 AS age_s, fleet_decisions.decision
FROM fleet_scaling
JOIN fleet_decisions ON fleet_decisions.id = (SELECT fleet_decisions.id
FROM fleet_decisions
WHERE fleet_decisions.fleet_id = fleet_scaling.fleet_id
ORDER BY fleet_decisions.decided_at DESC
LIMIT %(param_1)s::INTEGER)
ORDER BY fleet_scaling.fleet_id
LIMIT %(param_2)s::INTEGER
