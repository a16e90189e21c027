DELETE
FROM webhook_events
WHERE webhook_events.id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
