SELECT count(*) AS arrived, coalesce(sum(CASE WHEN (((julianday(webhook_deliveries.ended_at) - julianday(webhook_deliveries.created_at)) * 86400.0) > ?) THEN ? ELSE ? END), ?) AS late, coalesce(sum(CASE WHEN (webhook_deliveries.ended_at >= ?) THEN ? ELSE ? END), ?) AS arrived_recent, coalesce(sum(CASE WHEN (((julianday(webhook_deliveries.ended_at) - julianday(webhook_deliveries.created_at)) * 86400.0) > ?
AND webhook_deliveries.ended_at >= ?) THEN ? ELSE ? END), ?) AS late_recent
FROM webhook_events
JOIN webhook_deliveries ON webhook_deliveries.tenant_id = webhook_events.tenant_id
AND webhook_deliveries.event_id = webhook_events.id
WHERE webhook_events.created_at >= ?
AND webhook_deliveries.status = 'delivered'
AND webhook_deliveries.attempts_before = ?
AND webhook_deliveries.ended_at >= ?
