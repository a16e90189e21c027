UPDATE settlements
SET tries=(settlements.tries + ?), next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), last_error=?
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.id = ?
RETURNING id
