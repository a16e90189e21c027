WITH due AS (SELECT settlements.id AS id
FROM settlements
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.pool = ?
AND settlements.next_try_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY settlements.next_try_at
LIMIT ? OFFSET ?) UPDATE settlements
SET next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id IN (SELECT due.id
FROM due)
RETURNING id
