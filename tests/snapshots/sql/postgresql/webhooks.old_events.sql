SELECT webhook_events.id
FROM webhook_events
WHERE webhook_events.created_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
AND NOT (EXISTS (SELECT webhook_deliveries.id
FROM webhook_deliveries
WHERE webhook_deliveries.event_id = webhook_events.id
AND webhook_deliveries.status = 'pending'))
ORDER BY webhook_events.created_at
LIMIT %(param_1)s::INTEGER
