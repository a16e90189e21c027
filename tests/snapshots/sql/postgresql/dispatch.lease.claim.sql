UPDATE ai_job_dispatches
SET status=%(status)s::VARCHAR, attempts=(ai_job_dispatches.attempts + %(attempts_1)s::INTEGER), epoch=(ai_job_dispatches.epoch + %(epoch_1)s::BIGINT), lease_hash=b.lease_hash, worker_id=b.worker_id, incarnation=b.incarnation, lease_expires_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), deadline_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + ai_job_dispatches.run_deadline_s)), provider_job_id=%(provider_job_id)s::VARCHAR, service_submitted_at=%(service_submitted_at)s::TIMESTAMP WITH TIME ZONE, service_status=%(service_status)s::VARCHAR, leased_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id_epoch_lease_hash_worker_id_incarnation)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, lease_hash TEXT, worker_id UUID, incarnation BIGINT)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
AND ai_job_dispatches.epoch = b.epoch - %(epoch_2)s::BIGINT
RETURNING ai_job_dispatches.id
