UPDATE webhook_deliveries
SET status=?, next_try_at=?, ended_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE webhook_deliveries.tenant_id = ?
AND webhook_deliveries.endpoint_id = ?
AND webhook_deliveries.status IN (__[POSTCOMPILE_status_1])
