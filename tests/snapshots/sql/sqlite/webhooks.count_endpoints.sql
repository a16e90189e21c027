SELECT count(webhook_endpoints.id) AS total
FROM webhook_endpoints
WHERE webhook_endpoints.tenant_id = ?
AND webhook_endpoints.is_listed = 1
