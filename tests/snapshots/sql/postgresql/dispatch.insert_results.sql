INSERT INTO attempt_results (dispatch_id, epoch, result_metadata, created_at)
SELECT b.id, b.epoch, b.result_metadata, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_1
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, epoch BIGINT, result_metadata TEXT)) AS b
