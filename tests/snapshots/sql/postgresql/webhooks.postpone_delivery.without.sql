UPDATE webhook_deliveries
SET next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), response_status=%(response_status)s::INTEGER, last_error=%(last_error)s::VARCHAR
WHERE webhook_deliveries.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_deliveries.id = %(id_1)s::UUID
AND webhook_deliveries.attempts = %(attempts_1)s::INTEGER
AND webhook_deliveries.status = %(status_1)s::VARCHAR
RETURNING webhook_deliveries.id
