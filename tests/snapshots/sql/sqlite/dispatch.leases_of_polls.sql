SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.tenant_job_id, ai_job_dispatches.pool, ai_job_dispatches.workflow_id, ai_job_dispatches.provider, ai_job_dispatches.lane, ai_job_dispatches.status, ai_job_dispatches.priority, ai_job_dispatches.fair_tag, ai_job_dispatches.seq, ai_job_dispatches.attempts, ai_job_dispatches.max_attempts, ai_job_dispatches.releases, ai_job_dispatches.max_releases, ai_job_dispatches.epoch, ai_job_dispatches.lease_hash, ai_job_dispatches.worker_id, ai_job_dispatches.incarnation, ai_job_dispatches.lease_expires_at, ai_job_dispatches.deadline_at, ai_job_dispatches.run_deadline_s, ai_job_dispatches.queued_at, ai_job_dispatches.run_at, ai_job_dispatches.queue_deadline_at, ai_job_dispatches.cancel_requested_at, ai_job_dispatches.provider_job_id, ai_job_dispatches.service_submitted_at, ai_job_dispatches.last_service_check, ai_job_dispatches.service_status, ai_job_dispatches.error_class, ai_job_dispatches.last_error, ai_job_dispatches.duration_seconds, ai_job_dispatches.done_epoch, ai_job_dispatches.finished_at, ai_job_dispatches.settled_at, ai_job_dispatches.created_at, dispatch_attempts.nonce, dispatch_attempts.poll_id
FROM (SELECT json_extract(value, '$.worker_id') AS worker_id, json_extract(value, '$.poll_id') AS poll_id
FROM json_each(?)) AS b
JOIN dispatch_attempts ON dispatch_attempts.worker_id = b.worker_id
AND dispatch_attempts.poll_id = b.poll_id
AND dispatch_attempts.ended_at IS NULL
JOIN ai_job_dispatches ON ai_job_dispatches.id = dispatch_attempts.dispatch_id
AND ai_job_dispatches.epoch = dispatch_attempts.epoch
AND ai_job_dispatches.incarnation = dispatch_attempts.incarnation
WHERE ai_job_dispatches.status = ?
