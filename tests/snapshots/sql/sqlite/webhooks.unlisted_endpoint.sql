SELECT webhook_endpoints.id, webhook_endpoints.tenant_id, webhook_endpoints.url, webhook_endpoints.description, webhook_endpoints.secret, webhook_endpoints.event_types, webhook_endpoints.is_active, webhook_endpoints.is_listed, webhook_endpoints.disabled_reason, webhook_endpoints.created_at, webhook_endpoints.created_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS is_fresh
FROM webhook_endpoints
WHERE webhook_endpoints.tenant_id = ?
AND webhook_endpoints.url = ?
AND webhook_endpoints.is_listed = 0
