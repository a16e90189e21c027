SELECT dispatch_attempts.dispatch_id, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(dispatch_attempts.ended_at)) * 86400.0) AS ago_s
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch
FROM json_each(?)) AS b
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = b.id
AND dispatch_attempts.epoch = b.epoch - ?
AND dispatch_attempts.ended_at IS NOT NULL
