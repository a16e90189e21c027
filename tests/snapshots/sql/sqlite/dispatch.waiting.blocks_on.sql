SELECT failover_blocks.worker_id, failover_blocks.structure_hash, failover_blocks.tenant_id, failover_blocks.failure_count, failover_blocks.cooldown_s, failover_blocks.blocked_until, failover_blocks.probe_dispatch_id, failover_blocks.probe_until, failover_blocks.created_at, failover_blocks.blocked_until <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS opens
FROM failover_blocks
JOIN (SELECT json_extract(value, '$.hash') AS hash
FROM json_each(?)) AS b ON failover_blocks.structure_hash = b.hash
WHERE failover_blocks.cooldown_s > ?
