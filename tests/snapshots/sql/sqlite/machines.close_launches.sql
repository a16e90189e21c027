UPDATE fleet_launches
SET answered_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), launched=?, problem=?
WHERE fleet_launches.fleet_id = ?
AND fleet_launches.answered_at IS NULL
