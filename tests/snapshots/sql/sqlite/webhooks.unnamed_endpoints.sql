SELECT webhook_endpoints.id
FROM webhook_endpoints
WHERE webhook_endpoints.is_listed = 0
AND webhook_endpoints.created_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY webhook_endpoints.created_at
LIMIT ? OFFSET ?
