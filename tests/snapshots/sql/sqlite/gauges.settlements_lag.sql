SELECT settlements.pool, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(min(settlements.created_at))) * 86400.0) AS oldest_s
FROM settlements
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL GROUP BY settlements.pool
