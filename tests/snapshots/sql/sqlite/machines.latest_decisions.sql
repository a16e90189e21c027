SELECT fleet_decisions.id, fleet_decisions.fleet_id, fleet_decisions.decided_at, fleet_decisions.inputs, fleet_decisions.decision, fleet_decisions.reason, fleet_decisions.desired, fleet_decisions.ready, fleet_decisions.starting, fleet_decisions.draining, fleet_decisions.waiting, fleet_decisions.arrived_gpu_s, fleet_decisions.is_change
FROM fleet_decisions
WHERE fleet_decisions.fleet_id = ?
ORDER BY fleet_decisions.decided_at DESC
LIMIT ? OFFSET ?
