DELETE
FROM failover_blocks
WHERE failover_blocks.worker_id = %(worker_id_1)s::UUID
AND failover_blocks.structure_hash = %(structure_hash_1)s::VARCHAR
AND failover_blocks.cooldown_s > %(cooldown_s_1)s::INTEGER
RETURNING failover_blocks.worker_id, failover_blocks.structure_hash, failover_blocks.tenant_id, failover_blocks.failure_count, failover_blocks.cooldown_s, failover_blocks.blocked_until, failover_blocks.probe_dispatch_id, failover_blocks.probe_until, failover_blocks.created_at
