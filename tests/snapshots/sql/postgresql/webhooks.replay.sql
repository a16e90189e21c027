UPDATE webhook_deliveries
SET status=%(status)s::VARCHAR, attempts_before=webhook_deliveries.attempts, next_try_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), ended_at=%(ended_at)s::TIMESTAMP WITH TIME ZONE
WHERE webhook_deliveries.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_deliveries.id = %(id_1)s::UUID
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
RETURNING webhook_deliveries.id
