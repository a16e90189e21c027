DELETE
FROM fleet_inventories
WHERE fleet_inventories.fleet_id = ?
AND ((fleet_inventories.kind NOT IN (SELECT other.kind
FROM fleet_inventories AS other
WHERE other.fleet_id = ?
ORDER BY other.seen_at DESC, other.kind
LIMIT ? OFFSET ?)) OR ((julianday((SELECT max(other.seen_at) AS max_1
FROM fleet_inventories AS other
WHERE other.fleet_id = ?)) - julianday(fleet_inventories.seen_at)) * 86400.0) > ?)
