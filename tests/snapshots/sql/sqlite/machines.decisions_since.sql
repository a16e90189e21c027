SELECT fleet_decisions.id, fleet_decisions.decided_at, fleet_decisions.reason, fleet_decisions.desired, fleet_decisions.ready, fleet_decisions.starting, fleet_decisions.draining, fleet_decisions.waiting, fleet_decisions.decision
FROM fleet_decisions
WHERE fleet_decisions.fleet_id = ?
AND fleet_decisions.decided_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND fleet_decisions.is_change = 1
ORDER BY fleet_decisions.decided_at DESC
LIMIT ? OFFSET ?
