INSERT INTO dispatch_attempts (dispatch_id, epoch, nonce, poll_id, worker_id, incarnation, granted_at)
SELECT b.id, b.epoch, b.nonce, b.poll_id, b.worker_id, b.incarnation, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_1
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.nonce') AS nonce, json_extract(value, '$.poll_id') AS poll_id, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation
FROM json_each(?)) AS b
