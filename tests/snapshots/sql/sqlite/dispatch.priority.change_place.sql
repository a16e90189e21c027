UPDATE ai_job_dispatches
SET lane=?, priority=?, fair_tag=?
WHERE ai_job_dispatches.id = ?
AND ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
RETURNING id, tenant_id, tenant_job_id, pool, workflow_id, provider, lane, status, priority, fair_tag, seq, attempts, max_attempts, releases, max_releases, epoch, lease_hash, worker_id, incarnation, lease_expires_at, deadline_at, run_deadline_s, queued_at, run_at, queue_deadline_at, cancel_requested_at, provider_job_id, service_submitted_at, last_service_check, service_status, error_class, last_error, duration_seconds, done_epoch, finished_at, settled_at, created_at, leased_at, delivers, traceparent
