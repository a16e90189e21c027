UPDATE ai_job_dispatches
SET status=%(status)s::VARCHAR, lease_hash=%(lease_hash)s::VARCHAR, worker_id=%(worker_id)s::UUID, incarnation=%(incarnation)s::BIGINT, lease_expires_at=%(lease_expires_at)s::TIMESTAMP WITH TIME ZONE, deadline_at=%(deadline_at)s::TIMESTAMP WITH TIME ZONE, run_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + b.pause_s)), service_submitted_at=CASE WHEN (ai_job_dispatches.service_submitted_at IS NOT NULL) THEN ai_job_dispatches.service_submitted_at WHEN (b.submitted_ago_s IS NOT NULL) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + -b.submitted_ago_s)) END, last_service_check=CASE WHEN ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + -b.checked_ago_s)) < ai_job_dispatches.service_submitted_at) THEN ai_job_dispatches.service_submitted_at WHEN (b.checked_ago_s IS NOT NULL) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + -b.checked_ago_s)) ELSE ai_job_dispatches.last_service_check END, service_status=coalesce(b.service_status, ai_job_dispatches.service_status), error_class=b.error_class, last_error=b.last_error
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id_epoch_lease_hash_worker_id_incarnation_error_class_last_error_pause_s_service_status_submitted_ago_s_checked_ago_s)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, lease_hash TEXT, worker_id UUID, incarnation BIGINT, error_class TEXT, last_error TEXT, pause_s FLOAT, service_status TEXT, submitted_ago_s FLOAT, checked_ago_s FLOAT)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = %(status_1)s::VARCHAR
AND ai_job_dispatches.cancel_requested_at IS NULL
RETURNING ai_job_dispatches.id, ai_job_dispatches.lane, ai_job_dispatches.status, ai_job_dispatches.epoch, ai_job_dispatches.error_class, ai_job_dispatches.last_error, ai_job_dispatches.provider_job_id, ai_job_dispatches.tenant_id, ai_job_dispatches.workflow_id, ai_job_dispatches.traceparent, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (ai_job_dispatches.leased_at))::float8 AS leased_s
