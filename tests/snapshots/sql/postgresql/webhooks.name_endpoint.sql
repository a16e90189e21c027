UPDATE webhook_endpoints
SET secret=%(secret)s::VARCHAR, is_active=%(is_active)s, disabled_reason=%(disabled_reason)s::VARCHAR, created_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE webhook_endpoints.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_endpoints.id = %(id_1)s::UUID
RETURNING webhook_endpoints.id, webhook_endpoints.tenant_id, webhook_endpoints.url, webhook_endpoints.description, webhook_endpoints.secret, webhook_endpoints.event_types, webhook_endpoints.is_active, webhook_endpoints.is_listed, webhook_endpoints.disabled_reason, webhook_endpoints.created_at
