UPDATE webhook_deliveries
SET status=%(status)s::VARCHAR, next_try_at=%(next_try_at)s::TIMESTAMP WITH TIME ZONE, response_status=%(response_status)s::INTEGER, last_error=%(last_error)s::VARCHAR, ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE webhook_deliveries.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_deliveries.id = %(id_1)s::UUID
AND webhook_deliveries.attempts = %(attempts_1)s::INTEGER
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
RETURNING webhook_deliveries.id
