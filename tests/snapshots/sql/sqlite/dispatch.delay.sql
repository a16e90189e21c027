UPDATE ai_job_dispatches
SET status=?, lease_hash=?, worker_id=?, incarnation=?, lease_expires_at=?, deadline_at=?, run_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + b.pause_s) || ' seconds') || '000Z'), service_submitted_at=CASE WHEN (ai_job_dispatches.service_submitted_at IS NOT NULL) THEN ai_job_dispatches.service_submitted_at WHEN (b.submitted_ago_s IS NOT NULL) THEN (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + -b.submitted_ago_s) || ' seconds') || '000Z') END, last_service_check=CASE WHEN ((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + -b.checked_ago_s) || ' seconds') || '000Z') < ai_job_dispatches.service_submitted_at) THEN ai_job_dispatches.service_submitted_at WHEN (b.checked_ago_s IS NOT NULL) THEN (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + -b.checked_ago_s) || ' seconds') || '000Z') ELSE ai_job_dispatches.last_service_check END, service_status=coalesce(b.service_status, ai_job_dispatches.service_status), error_class=b.error_class, last_error=b.last_error
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.lease_hash') AS lease_hash, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation, json_extract(value, '$.error_class') AS error_class, json_extract(value, '$.last_error') AS last_error, json_extract(value, '$.pause_s') AS pause_s, json_extract(value, '$.service_status') AS service_status, json_extract(value, '$.submitted_ago_s') AS submitted_ago_s, json_extract(value, '$.checked_ago_s') AS checked_ago_s
FROM json_each(?)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = ?
AND ai_job_dispatches.cancel_requested_at IS NULL
RETURNING id, lane, status, epoch, error_class, last_error, provider_job_id, tenant_id, workflow_id, traceparent, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(leased_at)) * 86400.0) AS leased_s
