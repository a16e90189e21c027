UPDATE dispatch_attempts
SET ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), reason=b.reason, request_digest=b.request_digest, answered_status=b.status, provider_job_id=b.provider_job_id, service_reason=b.service_reason
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.reason') AS reason, json_extract(value, '$.request_digest') AS request_digest, json_extract(value, '$.status') AS status, json_extract(value, '$.provider_job_id') AS provider_job_id, json_extract(value, '$.service_reason') AS service_reason
FROM json_each(?)) AS b
WHERE dispatch_attempts.dispatch_id = b.id
AND dispatch_attempts.epoch = b.epoch
AND dispatch_attempts.ended_at IS NULL
