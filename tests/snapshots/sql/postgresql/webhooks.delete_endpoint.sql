DELETE
FROM webhook_endpoints
WHERE webhook_endpoints.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_endpoints.id = %(id_1)s::UUID
