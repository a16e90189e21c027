SELECT count(webhook_endpoints.id) AS total
FROM webhook_endpoints
WHERE webhook_endpoints.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_endpoints.is_listed
