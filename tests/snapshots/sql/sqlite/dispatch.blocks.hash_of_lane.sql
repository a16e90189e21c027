SELECT lanes.structure_hash
FROM lanes
WHERE lanes.id = ?
