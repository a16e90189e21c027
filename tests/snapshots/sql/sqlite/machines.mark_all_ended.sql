UPDATE fleet_machines
SET ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE fleet_machines.fleet_id = ?
AND fleet_machines.ended_at IS NULL
RETURNING machine_id
