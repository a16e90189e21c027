INSERT INTO webhook_endpoints (id, tenant_id, url, description, secret, event_types, is_active, is_listed, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(url)s::VARCHAR, %(description)s::VARCHAR, %(secret)s::VARCHAR, NULL, %(is_active)s, %(is_listed)s, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING webhook_endpoints.id, webhook_endpoints.tenant_id, webhook_endpoints.url, webhook_endpoints.description, webhook_endpoints.secret, webhook_endpoints.event_types, webhook_endpoints.is_active, webhook_endpoints.is_listed, webhook_endpoints.disabled_reason, webhook_endpoints.created_at
