SELECT lanes.id
FROM lanes
WHERE lanes.workflow_id = %(workflow_id_1)s::UUID
AND lanes.structure_hash = %(structure_hash_1)s::VARCHAR
AND lanes.provider = %(provider_1)s::VARCHAR
AND lanes.priority = %(priority_1)s::INTEGER
