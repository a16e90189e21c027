SELECT ai_job_dispatches.worker_id, ai_job_dispatches.id, ai_job_dispatches.lane, ai_job_dispatches.tenant_id, ai_job_dispatches.traceparent, ai_job_dispatches.epoch, ai_job_dispatches.attempts, ai_job_dispatches.incarnation, ((julianday(ai_job_dispatches.deadline_at) - julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))) * 86400.0) AS deadline_s, dispatch_attempts.nonce, dispatch_attempts.poll_id
FROM (SELECT replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id
FROM json_each(?)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.status = 'leased'
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = ai_job_dispatches.id
AND dispatch_attempts.epoch = ai_job_dispatches.epoch
