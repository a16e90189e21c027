INSERT INTO fleet_inventories (fleet_id, kind, capability_digest, providers, seen_at)
VALUES (%(fleet_id)s::UUID, %(kind)s::VARCHAR, %(capability_digest)s::VARCHAR, %(providers)s::JSONB, %(seen_at)s::TIMESTAMP WITH TIME ZONE)
ON CONFLICT (fleet_id, kind) DO UPDATE
SET seen_at = excluded.seen_at
WHERE fleet_inventories.seen_at < excluded.seen_at
