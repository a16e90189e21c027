SELECT webhook_deliveries.id, webhook_deliveries.tenant_id, webhook_deliveries.event_id, webhook_deliveries.endpoint_id, webhook_deliveries.status, webhook_deliveries.attempts, webhook_deliveries.attempts_before, webhook_deliveries.next_try_at, webhook_deliveries.response_status, webhook_deliveries.last_error, webhook_deliveries.created_at, webhook_deliveries.ended_at, webhook_events.event_type, webhook_events.payload, webhook_events.subject_id
FROM webhook_deliveries
JOIN webhook_events ON webhook_events.id = webhook_deliveries.event_id
AND webhook_events.tenant_id = ?
WHERE webhook_deliveries.tenant_id = ?
AND webhook_deliveries.id = ?
