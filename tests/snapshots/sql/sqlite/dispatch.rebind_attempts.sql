UPDATE dispatch_attempts
SET incarnation=b.new_incarnation
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation, json_extract(value, '$.new_hash') AS new_hash, json_extract(value, '$.new_incarnation') AS new_incarnation
FROM json_each(?)) AS b
WHERE dispatch_attempts.dispatch_id = b.id
AND dispatch_attempts.epoch = b.epoch
AND dispatch_attempts.incarnation = b.incarnation
AND dispatch_attempts.ended_at IS NULL
