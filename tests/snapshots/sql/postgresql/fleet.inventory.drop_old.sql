DELETE
FROM fleet_inventories
WHERE fleet_inventories.fleet_id = %(fleet_id_1)s::UUID
AND ((fleet_inventories.kind NOT IN (SELECT other.kind
FROM fleet_inventories AS other
WHERE other.fleet_id = %(fleet_id_2)s::UUID
ORDER BY other.seen_at DESC, other.kind
LIMIT %(param_1)s::INTEGER)) OR EXTRACT(EPOCH
FROM ((SELECT max(other.seen_at) AS max_1
FROM fleet_inventories AS other
WHERE other.fleet_id = %(fleet_id_3)s::UUID)) - (fleet_inventories.seen_at))::float8 > %(param_2)s)
