INSERT INTO lanes (workflow_id, structure_hash, provider, priority)
VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING
RETURNING id
