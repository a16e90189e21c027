SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.epoch, ai_job_dispatches.cancel_requested_at, dispatch_attempts.nonce
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation
FROM json_each(?)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = ?
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = ai_job_dispatches.id
AND dispatch_attempts.epoch = ai_job_dispatches.epoch
