UPDATE settlements
SET tries=(settlements.tries + ?), last_error=?, parked_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id = ?
RETURNING id
