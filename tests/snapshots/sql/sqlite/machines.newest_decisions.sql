SELECT fleet_scaling.fleet_id, fleet_scaling.max_workers, fleet_scaling.decided_at, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(fleet_scaling.decided_at)) * 86400.0) AS age_s, fleet_decisions.decision
FROM fleet_scaling
JOIN fleet_decisions ON fleet_decisions.id = (SELECT fleet_decisions.id
FROM fleet_decisions
WHERE fleet_decisions.fleet_id = fleet_scaling.fleet_id
ORDER BY fleet_decisions.decided_at DESC
LIMIT ? OFFSET ?)
ORDER BY fleet_scaling.fleet_id
LIMIT ? OFFSET ?
