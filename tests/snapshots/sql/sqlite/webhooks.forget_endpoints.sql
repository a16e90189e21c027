DELETE
FROM webhook_endpoints
WHERE webhook_endpoints.id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
AND webhook_endpoints.is_listed = 0
AND webhook_endpoints.created_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
