DELETE
FROM failover_blocks
WHERE EXISTS (SELECT b.worker_id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(worker_id UUID, lane INTEGER)) AS b
JOIN lanes ON lanes.id = b.lane
WHERE failover_blocks.worker_id = b.worker_id
AND (lanes.structure_hash = failover_blocks.structure_hash OR failover_blocks.structure_hash = %(structure_hash_1)s::VARCHAR))
RETURNING failover_blocks.worker_id, failover_blocks.structure_hash, failover_blocks.tenant_id, failover_blocks.failure_count, failover_blocks.cooldown_s, failover_blocks.blocked_until, failover_blocks.probe_dispatch_id, failover_blocks.probe_until, failover_blocks.created_at
