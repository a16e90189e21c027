UPDATE settlements
SET applied_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), parked_at=?
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
WHERE settlements.id = b.id
AND settlements.applied_at IS NULL
RETURNING dispatch_id
