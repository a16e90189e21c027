SELECT dispatch_attempts.dispatch_id, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (dispatch_attempts.ended_at))::float8 AS ago_s
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT)) AS b
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = b.id
AND dispatch_attempts.epoch = b.epoch - %(epoch_1)s::BIGINT
AND dispatch_attempts.ended_at IS NOT NULL
