INSERT INTO lanes (workflow_id, structure_hash, provider, priority)
VALUES (%(workflow_id)s::UUID, %(structure_hash)s::VARCHAR, %(provider)s::VARCHAR, %(priority)s::INTEGER)
ON CONFLICT DO NOTHING
RETURNING lanes.id
