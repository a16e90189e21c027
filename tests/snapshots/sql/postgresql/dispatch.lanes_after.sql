SELECT lanes.id, lanes.workflow_id, lanes.structure_hash, lanes.provider, lanes.priority
FROM lanes
WHERE lanes.id > %(id_1)s::INTEGER
ORDER BY lanes.id
