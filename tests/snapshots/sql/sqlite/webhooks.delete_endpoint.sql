DELETE
FROM webhook_endpoints
WHERE webhook_endpoints.tenant_id = ?
AND webhook_endpoints.id = ?
