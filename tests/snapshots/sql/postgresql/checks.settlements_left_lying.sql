SELECT found.id, found.dispatch_id, found.pool, found.tries, found.created_at, count(*) OVER () AS total
FROM (SELECT settlements.id AS id, settlements.dispatch_id AS dispatch_id, settlements.pool AS pool, settlements.tries AS tries, settlements.created_at AS created_at
FROM settlements
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.created_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) AS found
LIMIT %(param_1)s::INTEGER
