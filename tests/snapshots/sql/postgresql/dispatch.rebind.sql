UPDATE ai_job_dispatches
SET lease_hash=b.new_hash, incarnation=b.new_incarnation, lease_expires_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(grace_s)s))
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, lease_hash TEXT, worker_id UUID, incarnation BIGINT, new_hash TEXT, new_incarnation BIGINT)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.epoch = b.epoch
AND ai_job_dispatches.lease_hash = b.lease_hash
AND ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = %(status_1)s::VARCHAR
RETURNING ai_job_dispatches.id
