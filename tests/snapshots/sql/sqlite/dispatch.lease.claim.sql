WITH free AS (SELECT b.id AS id, b.epoch AS epoch, b.lease_hash AS lease_hash, b.worker_id AS worker_id, b.incarnation AS incarnation, b.service_status AS service_status
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation, json_extract(value, '$.service_status') AS service_status
FROM json_each(?)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = b.id
WHERE ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.epoch = b.epoch - ?) UPDATE ai_job_dispatches
SET status=?, attempts=(ai_job_dispatches.attempts + ?), epoch=(ai_job_dispatches.epoch + ?), lease_hash=free.lease_hash, worker_id=free.worker_id, incarnation=free.incarnation, lease_expires_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), deadline_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ai_job_dispatches.run_deadline_s) || ' seconds') || '000Z'), provider_job_id=?, service_submitted_at=?, last_service_check=?, service_status=free.service_status, leased_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM free
WHERE ai_job_dispatches.id = free.id
AND ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.epoch = free.epoch - ?
RETURNING id, tenant_id, traceparent
