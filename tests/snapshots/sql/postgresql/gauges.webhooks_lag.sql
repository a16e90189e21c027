SELECT EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (oldest.next_try_at))::float8 AS oldest_s
FROM (SELECT webhook_deliveries.next_try_at AS next_try_at
FROM webhook_deliveries
WHERE webhook_deliveries.status = 'pending'
ORDER BY webhook_deliveries.next_try_at
LIMIT %(param_1)s::INTEGER) AS oldest
