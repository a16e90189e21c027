UPDATE ai_job_dispatches
SET lease_hash=b.new_hash, incarnation=b.new_incarnation, lease_expires_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation, json_extract(value, '$.new_hash') AS new_hash, json_extract(value, '$.new_incarnation') AS new_incarnation
FROM json_each(?)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = ?
RETURNING id
