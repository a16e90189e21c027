SELECT ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(oldest.next_try_at)) * 86400.0) AS oldest_s
FROM (SELECT webhook_deliveries.next_try_at AS next_try_at
FROM webhook_deliveries
WHERE webhook_deliveries.status = 'pending'
ORDER BY webhook_deliveries.next_try_at
LIMIT ? OFFSET ?) AS oldest
