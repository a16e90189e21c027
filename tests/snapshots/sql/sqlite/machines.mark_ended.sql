UPDATE fleet_machines
SET ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE fleet_machines.fleet_id = ?
AND fleet_machines.machine_id IN (SELECT b.machine_id
FROM (SELECT json_extract(value, '$.machine_id') AS machine_id
FROM json_each(?)) AS b)
AND fleet_machines.ended_at IS NULL
RETURNING machine_id
