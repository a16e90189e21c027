INSERT INTO audit_alarms (id, pool, chain, seq, problem, found_at)
VALUES (?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, pool, chain, seq, problem, found_at, acknowledged_at, acknowledged_by
