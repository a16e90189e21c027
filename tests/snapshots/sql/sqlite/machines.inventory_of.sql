SELECT fleet_inventories.capability_digest, fleet_inventories.providers
FROM fleet_inventories
WHERE fleet_inventories.fleet_id = ?
