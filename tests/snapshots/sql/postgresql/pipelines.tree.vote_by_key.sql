SELECT votes.id, votes.tenant_id, votes.run_id, votes.position, votes.seq, votes.winner_id, votes.loser_id, votes.user_id, votes.idempotency_key, votes.created_at
FROM votes
WHERE votes.tenant_id = %(bound_tenant_id)s::UUID
AND votes.user_id = %(user_id_1)s::UUID
AND votes.idempotency_key = %(idempotency_key_1)s::VARCHAR
