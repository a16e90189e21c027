SELECT count(*) AS arrived, coalesce(sum(CASE WHEN (EXTRACT(EPOCH
FROM (webhook_deliveries.ended_at) - (webhook_deliveries.created_at))::float8 > %(param_1)s) THEN %(param_2)s::INTEGER ELSE %(param_3)s::INTEGER END), %(coalesce_1)s::INTEGER) AS late, coalesce(sum(CASE WHEN (webhook_deliveries.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE) THEN %(param_4)s::INTEGER ELSE %(param_5)s::INTEGER END), %(coalesce_2)s::INTEGER) AS arrived_recent, coalesce(sum(CASE WHEN (EXTRACT(EPOCH
FROM (webhook_deliveries.ended_at) - (webhook_deliveries.created_at))::float8 > %(param_1)s
AND webhook_deliveries.ended_at >= %(ended_at_1)s::TIMESTAMP WITH TIME ZONE) THEN %(param_6)s::INTEGER ELSE %(param_7)s::INTEGER END), %(coalesce_3)s::INTEGER) AS late_recent
FROM webhook_events
JOIN webhook_deliveries ON webhook_deliveries.tenant_id = webhook_events.tenant_id
AND webhook_deliveries.event_id = webhook_events.id
WHERE webhook_events.created_at >= %(created_at_1)s::TIMESTAMP WITH TIME ZONE
AND webhook_deliveries.status = 'delivered'
AND webhook_deliveries.attempts_before = %(attempts_before_1)s::INTEGER
AND webhook_deliveries.ended_at >= %(ended_at_2)s::TIMESTAMP WITH TIME ZONE
