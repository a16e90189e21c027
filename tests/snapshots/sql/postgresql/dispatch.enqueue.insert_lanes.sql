INSERT INTO lanes (workflow_id, structure_hash, provider, priority)
SELECT b.workflow_id, b.structure_hash, b.provider, b.priority
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(workflow_id UUID, structure_hash TEXT, provider TEXT, priority INTEGER)) AS b
WHERE true
ON CONFLICT DO NOTHING
