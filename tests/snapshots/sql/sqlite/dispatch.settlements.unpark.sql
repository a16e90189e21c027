UPDATE settlements
SET tries=?, next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), parked_at=?
WHERE settlements.id = ?
AND settlements.parked_at IS NOT NULL
AND settlements.applied_at IS NULL
RETURNING id
