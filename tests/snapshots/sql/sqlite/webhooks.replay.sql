UPDATE webhook_deliveries
SET status=?, attempts_before=webhook_deliveries.attempts, next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ended_at=?
WHERE webhook_deliveries.tenant_id = ?
AND webhook_deliveries.id = ?
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
RETURNING id
