INSERT INTO lanes (workflow_id, structure_hash, provider, priority)
SELECT b.workflow_id, b.structure_hash, b.provider, b.priority
FROM (SELECT replace(json_extract(value, '$.workflow_id'), '-', '') AS workflow_id, json_extract(value, '$.structure_hash') AS structure_hash, json_extract(value, '$.provider') AS provider, json_extract(value, '$.priority') AS priority
FROM json_each(?)) AS b
WHERE 1 = 1
ON CONFLICT DO NOTHING
