UPDATE webhook_deliveries
SET status=?, next_try_at=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE webhook_deliveries.id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
