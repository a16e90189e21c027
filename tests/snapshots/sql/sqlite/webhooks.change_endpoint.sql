UPDATE webhook_endpoints
SET
WHERE webhook_endpoints.tenant_id = ?
AND webhook_endpoints.id = ?
RETURNING id, tenant_id, url, description, secret, event_types, is_active, is_listed, disabled_reason, created_at
