SELECT fleet_launches.decision_id, fleet_launches.ordinal, fleet_launches.fleet_id, fleet_launches.token, fleet_launches.machine_class, fleet_launches.market, fleet_launches.zone, fleet_launches.machines, fleet_launches.asked_at, fleet_launches.answered_at, fleet_launches.launched, fleet_launches.problem, fleet_launches."plan", ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(fleet_launches.asked_at)) * 86400.0) AS age_s
FROM fleet_launches
WHERE fleet_launches.fleet_id = ?
AND fleet_launches.answered_at IS NULL
ORDER BY fleet_launches.decision_id, fleet_launches.ordinal
