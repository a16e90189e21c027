SELECT fleet_launches.decision_id, fleet_launches.ordinal, fleet_launches.fleet_id, fleet_launches.token, fleet_launches.machine_class, fleet_launches.market, fleet_launches.zone, fleet_launches.machines, fleet_launches.asked_at, fleet_launches.answered_at, fleet_launches.launched, fleet_launches.problem, fleet_launches.plan, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (fleet_launches.asked_at))::float8 AS age_s
FROM fleet_launches
WHERE fleet_launches.fleet_id = %(fleet_id_1)s::UUID
AND fleet_launches.answered_at IS NULL
ORDER BY fleet_launches.decision_id, fleet_launches.ordinal
