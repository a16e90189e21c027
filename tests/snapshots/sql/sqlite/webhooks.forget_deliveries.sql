DELETE
FROM webhook_deliveries
WHERE webhook_deliveries.event_id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
