INSERT INTO webhook_attempts (id, tenant_id, delivery_id, number, response_status, error, duration_ms, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(delivery_id)s::UUID, %(number)s::INTEGER, %(response_status)s::INTEGER, %(error)s::VARCHAR, %(duration_ms)s::INTEGER, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
