WITH due AS (SELECT settlements.id AS id
FROM settlements
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.pool = %(pool_1)s::VARCHAR
AND settlements.next_try_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
ORDER BY settlements.next_try_at
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED) UPDATE settlements
SET next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id IN (SELECT due.id
FROM due)
RETURNING settlements.id
