SELECT votes.winner_id, votes.loser_id
FROM votes
WHERE votes.tenant_id = ?
AND votes.run_id = ?
AND votes.position = ?
ORDER BY votes.seq DESC
LIMIT ? OFFSET ?
