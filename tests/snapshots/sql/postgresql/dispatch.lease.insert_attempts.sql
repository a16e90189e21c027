INSERT INTO dispatch_attempts (dispatch_id, epoch, nonce, poll_id, worker_id, incarnation, granted_at)
SELECT b.id, b.epoch, b.nonce, b.poll_id, b.worker_id, b.incarnation, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_1
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, nonce TEXT, poll_id TEXT, worker_id UUID, incarnation BIGINT)) AS b
