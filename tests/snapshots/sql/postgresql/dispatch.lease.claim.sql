WITH free AS (SELECT b.id AS id, b.epoch AS epoch, b.lease_hash AS lease_hash, b.worker_id AS worker_id, b.incarnation AS incarnation, b.service_status AS service_status
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, lease_hash TEXT, worker_id UUID, incarnation BIGINT, service_status TEXT)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = b.id
WHERE ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.epoch = b.epoch - %(epoch_2)s::BIGINT FOR UPDATE OF ai_job_dispatches SKIP LOCKED) UPDATE ai_job_dispatches
SET status=%(status)s::VARCHAR, attempts=(ai_job_dispatches.attempts + %(attempts_1)s::INTEGER), epoch=(ai_job_dispatches.epoch + %(epoch_1)s::BIGINT), lease_hash=free.lease_hash, worker_id=free.worker_id, incarnation=free.incarnation, lease_expires_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(grace_s)s)), deadline_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + ai_job_dispatches.run_deadline_s)), provider_job_id=%(provider_job_id)s::VARCHAR, service_submitted_at=%(service_submitted_at)s::TIMESTAMP WITH TIME ZONE, last_service_check=%(last_service_check)s::TIMESTAMP WITH TIME ZONE, service_status=free.service_status, leased_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
FROM free
WHERE ai_job_dispatches.id = free.id
AND ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.epoch = free.epoch - %(epoch_3)s::BIGINT
RETURNING ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.traceparent
