DELETE
FROM webhook_attempts
WHERE webhook_attempts.delivery_id IN (SELECT webhook_deliveries.id
FROM webhook_deliveries
WHERE webhook_deliveries.event_id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b))
