SELECT fleet_launches.problem
FROM fleet_launches
WHERE fleet_launches.fleet_id = ?
AND fleet_launches.answered_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY fleet_launches.answered_at DESC, fleet_launches.ordinal DESC
LIMIT ? OFFSET ?
