SELECT lanes.structure_hash
FROM lanes
WHERE lanes.id = %(id_1)s::INTEGER
