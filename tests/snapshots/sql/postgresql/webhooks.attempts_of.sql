SELECT webhook_attempts.id, webhook_attempts.tenant_id, webhook_attempts.delivery_id, webhook_attempts.number, webhook_attempts.response_status, webhook_attempts.error, webhook_attempts.duration_ms, webhook_attempts.created_at
FROM webhook_attempts
WHERE webhook_attempts.tenant_id = %(bound_tenant_id)s::UUID
AND webhook_attempts.delivery_id = %(delivery_id_1)s::UUID
ORDER BY webhook_attempts.number
