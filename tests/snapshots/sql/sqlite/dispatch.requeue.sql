UPDATE ai_job_dispatches
SET status=?, releases=(ai_job_dispatches.releases + b.gives_back), lease_hash=?, worker_id=?, incarnation=?, lease_expires_at=?, deadline_at=?, last_error=b.last_error
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation, json_extract(value, '$.last_error') AS last_error, json_extract(value, '$.gives_back') AS gives_back
FROM json_each(?)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = ?
AND ai_job_dispatches.cancel_requested_at IS NULL
RETURNING id, lane, status, epoch, error_class, last_error, provider_job_id
