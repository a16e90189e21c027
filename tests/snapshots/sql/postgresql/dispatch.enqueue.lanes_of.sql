SELECT lanes.id, lanes.workflow_id, lanes.structure_hash, lanes.provider, lanes.priority
FROM lanes
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(workflow_id UUID, structure_hash TEXT, provider TEXT, priority INTEGER)) AS b ON lanes.workflow_id = b.workflow_id
AND lanes.structure_hash = b.structure_hash
AND lanes.provider = b.provider
AND lanes.priority = b.priority
