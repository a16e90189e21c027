DELETE
FROM capability_lists
WHERE NOT (EXISTS (SELECT *
FROM comfyui_workers
WHERE comfyui_workers.capability_digest = capability_lists.digest))
AND NOT (EXISTS (SELECT *
FROM fleet_inventories
WHERE fleet_inventories.capability_digest = capability_lists.digest))
