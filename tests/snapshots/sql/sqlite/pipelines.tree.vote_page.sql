SELECT votes.id, votes.tenant_id, votes.run_id, votes.position, votes.seq, votes.winner_id, votes.loser_id, votes.user_id, votes.idempotency_key, votes.created_at
FROM votes
WHERE votes.tenant_id = ?
AND votes.run_id = ?
AND votes.position = ?
AND votes.id > ?
ORDER BY votes.id
LIMIT ? OFFSET ?
