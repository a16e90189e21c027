DELETE
FROM failover_blocks
WHERE failover_blocks.worker_id = ?
AND failover_blocks.structure_hash = ?
AND failover_blocks.cooldown_s > ?
RETURNING worker_id, structure_hash, tenant_id, failure_count, cooldown_s, blocked_until, probe_dispatch_id, probe_until, created_at
