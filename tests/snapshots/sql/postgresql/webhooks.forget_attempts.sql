DELETE
FROM webhook_attempts
WHERE webhook_attempts.delivery_id IN (SELECT webhook_deliveries.id
FROM webhook_deliveries
WHERE webhook_deliveries.event_id IN (SELECT b.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b))
