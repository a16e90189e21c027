SELECT settlements.pool, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (min(settlements.created_at)))::float8 AS oldest_s
FROM settlements
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL GROUP BY settlements.pool
