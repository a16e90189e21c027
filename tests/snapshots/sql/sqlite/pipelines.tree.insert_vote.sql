INSERT INTO votes (id, tenant_id, run_id, position, seq, winner_id, loser_id, user_id, idempotency_key, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, run_id, position, seq, winner_id, loser_id, user_id, idempotency_key, created_at
