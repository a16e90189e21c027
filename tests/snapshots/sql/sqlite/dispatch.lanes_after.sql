SELECT lanes.id, lanes.workflow_id, lanes.structure_hash, lanes.provider, lanes.priority
FROM lanes
WHERE lanes.id > ?
ORDER BY lanes.id
