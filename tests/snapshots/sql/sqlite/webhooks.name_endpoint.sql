UPDATE webhook_endpoints
SET secret=?, is_active=?, disabled_reason=?, created_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE webhook_endpoints.tenant_id = ?
AND webhook_endpoints.id = ?
RETURNING id, tenant_id, url, description, secret, event_types, is_active, is_listed, disabled_reason, created_at
