UPDATE webhook_deliveries
SET next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), response_status=?, last_error=?
WHERE webhook_deliveries.tenant_id = ?
AND webhook_deliveries.id = ?
AND webhook_deliveries.attempts = ?
AND webhook_deliveries.status = ?
RETURNING id
