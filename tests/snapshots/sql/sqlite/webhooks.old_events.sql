SELECT webhook_events.id
FROM webhook_events
WHERE webhook_events.created_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND NOT (EXISTS (SELECT webhook_deliveries.id
FROM webhook_deliveries
WHERE webhook_deliveries.event_id = webhook_events.id
AND webhook_deliveries.status = 'pending'))
ORDER BY webhook_events.created_at
LIMIT ? OFFSET ?
