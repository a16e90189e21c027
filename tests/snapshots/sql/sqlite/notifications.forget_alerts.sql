DELETE
FROM alerts
WHERE alerts.state = 'resolved'
AND alerts.changed_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
