UPDATE settlements
SET next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id = b.id
