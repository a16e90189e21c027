UPDATE settlements
SET next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id = b.id
