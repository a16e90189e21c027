UPDATE webhook_deliveries
SET status=%(status)s::VARCHAR, next_try_at=%(next_try_at)s::TIMESTAMP WITH TIME ZONE, ended_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE webhook_deliveries.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_deliveries.endpoint_id = %(endpoint_id_1)s::UUID
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
