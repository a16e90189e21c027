SELECT ai_job_dispatches.worker_id, ai_job_dispatches.id, ai_job_dispatches.lane, ai_job_dispatches.tenant_id, ai_job_dispatches.traceparent, ai_job_dispatches.epoch, ai_job_dispatches.attempts, ai_job_dispatches.incarnation, EXTRACT(EPOCH
FROM (ai_job_dispatches.deadline_at) - ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))))::float8 AS deadline_s, dispatch_attempts.nonce, dispatch_attempts.poll_id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(worker_id UUID)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.status = 'leased'
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = ai_job_dispatches.id
AND dispatch_attempts.epoch = ai_job_dispatches.epoch
