UPDATE webhook_deliveries
SET status=?, next_try_at=?, response_status=?, last_error=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE webhook_deliveries.tenant_id = ?
AND webhook_deliveries.id = ?
AND webhook_deliveries.attempts = ?
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
RETURNING id
