WITH oldest AS (SELECT webhook_deliveries.id AS id, webhook_deliveries.tenant_id AS tenant_id, webhook_deliveries.endpoint_id AS endpoint_id, webhook_deliveries.next_try_at AS next_try_at
FROM webhook_deliveries
WHERE webhook_deliveries.status = 'pending'
AND webhook_deliveries.next_try_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND (webhook_deliveries.endpoint_id NOT IN (SELECT busy.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS busy))
AND (webhook_deliveries.tenant_id NOT IN (SELECT busy_tenants.tenant_id
FROM (SELECT replace(json_extract(value, '$.tenant_id'), '-', '') AS tenant_id
FROM json_each(?)) AS busy_tenants))
ORDER BY webhook_deliveries.next_try_at
LIMIT ? OFFSET ?), ranked AS (SELECT oldest.id AS id, oldest.tenant_id AS tenant_id, oldest.endpoint_id AS endpoint_id, oldest.next_try_at AS next_try_at, row_number() OVER (PARTITION BY oldest.endpoint_id
ORDER BY oldest.next_try_at, oldest.id) AS place
FROM oldest), shared AS (SELECT ranked.id AS id, ranked.next_try_at AS next_try_at, row_number() OVER (PARTITION BY ranked.tenant_id
ORDER BY ranked.next_try_at, ranked.id) AS place
FROM ranked
WHERE ranked.place <= ?), chosen AS (SELECT shared.id AS id
FROM shared
WHERE shared.place <= ?
ORDER BY shared.next_try_at
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
