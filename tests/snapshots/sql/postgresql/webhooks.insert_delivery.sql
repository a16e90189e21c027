INSERT INTO webhook_deliveries (id, tenant_id, event_id, endpoint_id, status, attempts, attempts_before, next_try_at, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(event_id)s::UUID, %(endpoint_id)s::UUID, %(status)s::VARCHAR, %(attempts)s::INTEGER, %(attempts_before)s::INTEGER, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
ON CONFLICT DO NOTHING
