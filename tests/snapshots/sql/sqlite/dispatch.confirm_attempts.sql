UPDATE dispatch_attempts
SET confirmed_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch
FROM json_each(?)) AS b
WHERE dispatch_attempts.dispatch_id = b.id
AND dispatch_attempts.epoch = b.epoch
AND dispatch_attempts.confirmed_at IS NULL
