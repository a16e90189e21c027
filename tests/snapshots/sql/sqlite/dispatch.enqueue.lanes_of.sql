SELECT lanes.id, lanes.workflow_id, lanes.structure_hash, lanes.provider, lanes.priority
FROM lanes
JOIN (SELECT replace(json_extract(value, '$.workflow_id'), '-', '') AS workflow_id, json_extract(value, '$.structure_hash') AS structure_hash, json_extract(value, '$.provider') AS provider, json_extract(value, '$.priority') AS priority
FROM json_each(?)) AS b ON lanes.workflow_id = b.workflow_id
AND lanes.structure_hash = b.structure_hash
AND lanes.provider = b.provider
AND lanes.priority = b.priority
