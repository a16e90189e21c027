UPDATE audit_alarms
SET acknowledged_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), acknowledged_by=?
WHERE audit_alarms.id = ?
AND audit_alarms.acknowledged_at IS NULL
RETURNING id, pool, chain, seq, problem, found_at, acknowledged_at, acknowledged_by
