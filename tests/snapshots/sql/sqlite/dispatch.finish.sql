UPDATE ai_job_dispatches
SET status=?, lease_hash=?, lease_expires_at=?, deadline_at=?, provider_job_id=coalesce(b.provider_job_id, ai_job_dispatches.provider_job_id), error_class=b.error_class, last_error=b.last_error, duration_seconds=CASE WHEN (b.ran_s < ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(ai_job_dispatches.leased_at)) * 86400.0)) THEN b.ran_s ELSE ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(ai_job_dispatches.leased_at)) * 86400.0) END, done_epoch=ai_job_dispatches.epoch, finished_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation, json_extract(value, '$.error_class') AS error_class, json_extract(value, '$.last_error') AS last_error, json_extract(value, '$.provider_job_id') AS provider_job_id, json_extract(value, '$.ran_s') AS ran_s, json_extract(value, '$.outputs') AS outputs
FROM json_each(?)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = ?
RETURNING id, lane, status, epoch, error_class, last_error, provider_job_id
