SELECT fleet_decisions.id, fleet_decisions.decided_at, fleet_decisions.reason, fleet_decisions.desired, fleet_decisions.ready, fleet_decisions.starting, fleet_decisions.draining, fleet_decisions.waiting, fleet_decisions.decision
FROM fleet_decisions
WHERE fleet_decisions.fleet_id = %(fleet_id_1)s::UUID
AND fleet_decisions.decided_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
AND fleet_decisions.is_change
ORDER BY fleet_decisions.decided_at DESC
LIMIT %(param_1)s::INTEGER
