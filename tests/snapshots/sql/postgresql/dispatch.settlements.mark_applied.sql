UPDATE settlements
SET applied_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), parked_at=%(parked_at)s::TIMESTAMP WITH TIME ZONE
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
WHERE settlements.id = b.id
AND settlements.applied_at IS NULL
RETURNING settlements.dispatch_id
