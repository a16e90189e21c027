SELECT votes.winner_id, votes.loser_id
FROM votes
WHERE votes.tenant_id = %(bound_tenant_id)s::UUID
AND votes.run_id = %(run_id_1)s::UUID
AND votes.position = %(position_1)s::INTEGER
ORDER BY votes.seq DESC
LIMIT %(param_1)s::INTEGER
