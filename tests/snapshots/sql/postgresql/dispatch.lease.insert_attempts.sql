INSERT INTO dispatch_attempts (dispatch_id, epoch, nonce, poll_id, worker_id, incarnation, granted_at)
SELECT b.dispatch_id, b.epoch, b.nonce, b.poll_id, b.worker_id, b.incarnation, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_1
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_dispatch_id_epoch_nonce_poll_id_worker_id_incarnation)s::VARCHAR AS jsonb)) AS r(dispatch_id UUID, epoch BIGINT, nonce TEXT, poll_id TEXT, worker_id UUID, incarnation BIGINT)) AS b
