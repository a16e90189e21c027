INSERT INTO votes (id, tenant_id, run_id, position, seq, winner_id, loser_id, user_id, idempotency_key, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(run_id)s::UUID, %(position)s::INTEGER, %(seq)s::INTEGER, %(winner_id)s::UUID, %(loser_id)s::UUID, %(user_id)s::UUID, %(idempotency_key)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING votes.id, votes.tenant_id, votes.run_id, votes.position, votes.seq, votes.winner_id, votes.loser_id, votes.user_id, votes.idempotency_key, votes.created_at
