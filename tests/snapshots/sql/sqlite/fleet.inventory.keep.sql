INSERT INTO fleet_inventories (fleet_id, kind, capability_digest, providers, seen_at)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (fleet_id, kind) DO UPDATE
SET seen_at = excluded.seen_at
WHERE fleet_inventories.seen_at < excluded.seen_at
