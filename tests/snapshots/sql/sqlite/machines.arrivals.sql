SELECT fleet_decisions.decided_at, fleet_decisions.arrived_gpu_s
FROM fleet_decisions
WHERE fleet_decisions.fleet_id = ?
AND fleet_decisions.decided_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY fleet_decisions.decided_at
