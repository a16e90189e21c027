UPDATE dispatch_attempts
SET incarnation=b.new_incarnation
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, lease_hash TEXT, worker_id UUID, incarnation BIGINT, new_hash TEXT, new_incarnation BIGINT)) AS b
WHERE dispatch_attempts.dispatch_id = b.id
AND dispatch_attempts.epoch = b.epoch
AND dispatch_attempts.incarnation = b.incarnation
AND dispatch_attempts.ended_at IS NULL
