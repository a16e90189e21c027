SELECT webhook_deliveries.id, webhook_deliveries.tenant_id, webhook_deliveries.endpoint_id, webhook_deliveries.attempts, webhook_deliveries.attempts_before, webhook_deliveries.event_id, webhook_events.event_type, webhook_events.subject_id, webhook_endpoints.url, webhook_endpoints.secret, webhook_events.payload
FROM webhook_deliveries
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON webhook_deliveries.id = b.id
JOIN webhook_endpoints ON webhook_endpoints.id = webhook_deliveries.endpoint_id
AND webhook_endpoints.tenant_id = webhook_deliveries.tenant_id
AND webhook_endpoints.is_active = 1
JOIN webhook_events ON webhook_events.id = webhook_deliveries.event_id
AND webhook_events.tenant_id = webhook_deliveries.tenant_id
