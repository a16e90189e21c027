SELECT lanes.id
FROM lanes
WHERE lanes.workflow_id = ?
AND lanes.structure_hash = ?
AND lanes.provider = ?
AND lanes.priority = ?
