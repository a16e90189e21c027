WITH ranked AS (SELECT webhook_deliveries.id AS id, webhook_deliveries.next_try_at AS next_try_at, row_number() OVER (PARTITION BY webhook_deliveries.endpoint_id
ORDER BY webhook_deliveries.next_try_at, webhook_deliveries.id) AS place
FROM webhook_deliveries
WHERE webhook_deliveries.status = 'pending'
AND webhook_deliveries.next_try_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
AND (webhook_deliveries.endpoint_id NOT IN (SELECT busy.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS busy))), chosen AS (SELECT ranked.id AS id
FROM ranked
WHERE ranked.place <= %(place_1)s::INTEGER
ORDER BY ranked.next_try_at
LIMIT %(param_1)s::INTEGER), free AS (SELECT webhook_deliveries.id AS id
FROM webhook_deliveries
WHERE webhook_deliveries.id IN (SELECT chosen.id
FROM chosen)
AND webhook_deliveries.status = 'pending'
AND webhook_deliveries.next_try_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_3)s)) FOR UPDATE SKIP LOCKED) UPDATE webhook_deliveries
SET attempts=(webhook_deliveries.attempts + %(attempts_1)s::INTEGER), next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE webhook_deliveries.id IN (SELECT free.id
FROM free)
AND webhook_deliveries.status = 'pending'
RETURNING webhook_deliveries.id
