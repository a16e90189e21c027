WITH oldest AS (SELECT webhook_deliveries.id AS id, webhook_deliveries.tenant_id AS tenant_id, webhook_deliveries.endpoint_id AS endpoint_id, webhook_deliveries.next_try_at AS next_try_at
FROM webhook_deliveries
WHERE webhook_deliveries.status = 'pending'
AND webhook_deliveries.next_try_at <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
AND (webhook_deliveries.endpoint_id NOT IN (SELECT busy.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS busy))
AND (webhook_deliveries.tenant_id NOT IN (SELECT busy_tenants.tenant_id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_tenant_id)s::VARCHAR AS jsonb)) AS r(tenant_id UUID)) AS busy_tenants))
ORDER BY webhook_deliveries.next_try_at
LIMIT %(param_1)s::INTEGER), ranked AS (SELECT oldest.id AS id, oldest.tenant_id AS tenant_id, oldest.endpoint_id AS endpoint_id, oldest.next_try_at AS next_try_at, row_number() OVER (PARTITION BY oldest.endpoint_id
ORDER BY oldest.next_try_at, oldest.id) AS place
FROM oldest), shared AS (SELECT ranked.id AS id, ranked.next_try_at AS next_try_at, row_number() OVER (PARTITION BY ranked.tenant_id
ORDER BY ranked.next_try_at, ranked.id) AS place
FROM ranked
WHERE ranked.place <= %(place_1)s::INTEGER), chosen AS (SELECT shared.id AS id
FROM shared
WHERE shared.place <= %(place_2)s::INTEGER
ORDER BY shared.next_try_at
LIMIT %(param_2)s::INTEGER), free AS (SELECT webhook_deliveries.id AS id
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
