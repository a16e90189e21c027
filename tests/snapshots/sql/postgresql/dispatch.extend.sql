UPDATE ai_job_dispatches
SET lease_expires_at=CASE WHEN ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(ttl_s)s)) < ai_job_dispatches.deadline_at) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(ttl_s)s)) ELSE ai_job_dispatches.deadline_at END, provider_job_id=coalesce(b.provider_job_id, ai_job_dispatches.provider_job_id), service_submitted_at=CASE WHEN (ai_job_dispatches.service_submitted_at IS NOT NULL) THEN ai_job_dispatches.service_submitted_at WHEN (b.submitted_ago_s IS NOT NULL) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + -b.submitted_ago_s)) END, last_service_check=CASE WHEN ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + -b.checked_ago_s)) < ai_job_dispatches.service_submitted_at) THEN ai_job_dispatches.service_submitted_at WHEN (b.checked_ago_s IS NOT NULL) THEN (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + -b.checked_ago_s)) ELSE ai_job_dispatches.last_service_check END, service_status=coalesce(b.service_status, ai_job_dispatches.service_status)
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, lease_hash TEXT, worker_id UUID, incarnation BIGINT, provider_job_id TEXT, service_status TEXT, submitted_ago_s FLOAT, checked_ago_s FLOAT)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = %(status_1)s::VARCHAR
RETURNING ai_job_dispatches.id, ai_job_dispatches.lane, ai_job_dispatches.cancel_requested_at, EXTRACT(EPOCH
FROM (ai_job_dispatches.lease_expires_at) - ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))))::float8 AS lease_s, EXTRACT(EPOCH
FROM (ai_job_dispatches.deadline_at) - ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))))::float8 AS deadline_s
