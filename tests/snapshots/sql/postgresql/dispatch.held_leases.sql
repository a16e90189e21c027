SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.epoch, ai_job_dispatches.cancel_requested_at, dispatch_attempts.nonce
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, lease_hash TEXT, worker_id UUID, incarnation BIGINT)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = %(status_1)s::VARCHAR
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = ai_job_dispatches.id
AND dispatch_attempts.epoch = ai_job_dispatches.epoch
