WITH late AS (SELECT ai_job_dispatches.id AS id
FROM ai_job_dispatches
WHERE ai_job_dispatches.status IN (__[POSTCOMPILE_status_2])
AND ai_job_dispatches.queue_deadline_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED) UPDATE ai_job_dispatches
SET status=%(status)s::VARCHAR, run_at=%(run_at)s::TIMESTAMP WITH TIME ZONE, error_class=%(error_class)s::VARCHAR, last_error=%(last_error)s::VARCHAR, done_epoch=ai_job_dispatches.epoch, finished_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.id IN (SELECT late.id
FROM late)
RETURNING ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.tenant_job_id, ai_job_dispatches.pool, ai_job_dispatches.workflow_id, ai_job_dispatches.provider, ai_job_dispatches.lane, ai_job_dispatches.status, ai_job_dispatches.priority, ai_job_dispatches.fair_tag, ai_job_dispatches.seq, ai_job_dispatches.attempts, ai_job_dispatches.max_attempts, ai_job_dispatches.releases, ai_job_dispatches.max_releases, ai_job_dispatches.epoch, ai_job_dispatches.lease_hash, ai_job_dispatches.worker_id, ai_job_dispatches.incarnation, ai_job_dispatches.lease_expires_at, ai_job_dispatches.deadline_at, ai_job_dispatches.run_deadline_s, ai_job_dispatches.queued_at, ai_job_dispatches.run_at, ai_job_dispatches.queue_deadline_at, ai_job_dispatches.cancel_requested_at, ai_job_dispatches.provider_job_id, ai_job_dispatches.service_submitted_at, ai_job_dispatches.last_service_check, ai_job_dispatches.service_status, ai_job_dispatches.error_class, ai_job_dispatches.last_error, ai_job_dispatches.duration_seconds, ai_job_dispatches.done_epoch, ai_job_dispatches.finished_at, ai_job_dispatches.settled_at, ai_job_dispatches.created_at, ai_job_dispatches.leased_at, ai_job_dispatches.delivers, ai_job_dispatches.traceparent
