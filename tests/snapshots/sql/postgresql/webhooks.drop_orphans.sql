UPDATE webhook_deliveries
SET status=%(status)s::VARCHAR, next_try_at=%(next_try_at)s::TIMESTAMP WITH TIME ZONE, ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE webhook_deliveries.id IN (SELECT b.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b)
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
