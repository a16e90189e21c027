DELETE
FROM fleet_machines
WHERE fleet_machines.ended_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
