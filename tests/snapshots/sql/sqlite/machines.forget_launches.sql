DELETE
FROM fleet_launches
WHERE fleet_launches.answered_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
