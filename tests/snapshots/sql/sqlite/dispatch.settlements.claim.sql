UPDATE settlements
SET next_try_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE settlements.applied_at IS NULL
AND settlements.parked_at IS NULL
AND settlements.dispatch_id = ?
AND settlements.next_try_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
RETURNING id
