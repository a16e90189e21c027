WITH ranked AS (SELECT webhook_deliveries.id AS id, webhook_deliveries.next_try_at AS next_try_at, row_number() OVER (PARTITION BY webhook_deliveries.endpoint_id
ORDER BY webhook_deliveries.next_try_at, webhook_deliveries.id) AS place
FROM webhook_deliveries
WHERE webhook_deliveries.status = 'pending'
AND webhook_deliveries.next_try_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND (webhook_deliveries.endpoint_id NOT IN (SELECT busy.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS busy))), chosen AS (SELECT ranked.id AS id
FROM ranked
WHERE ranked.place <= ?
ORDER BY ranked.next_try_at
LIMIT ? OFFSET ?), free AS (SELECT webhook_deliveries.id AS id
FROM webhook_deliveries
WHERE webhook_deliveries.id IN (SELECT chosen.id
FROM chosen)
AND webhook_deliveries.status = 'pending'
AND webhook_deliveries.next_try_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) UPDATE webhook_deliveries
SET attempts=(webhook_deliveries.attempts + ?), next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE webhook_deliveries.id IN (SELECT free.id
FROM free)
AND webhook_deliveries.status = 'pending'
RETURNING id
