UPDATE ai_job_dispatches
SET status=?, attempts=(ai_job_dispatches.attempts + ?), epoch=(ai_job_dispatches.epoch + ?), lease_hash=b.lease_hash, worker_id=b.worker_id, incarnation=b.incarnation, lease_expires_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), deadline_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ai_job_dispatches.run_deadline_s) || ' seconds') || '000Z'), provider_job_id=?, service_submitted_at=?, service_status=?, leased_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, json_extract(value, '$.worker_id') AS worker_id, json_extract(value, '$.incarnation') AS incarnation
FROM json_each(?)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.epoch = b.epoch - ?
RETURNING id
