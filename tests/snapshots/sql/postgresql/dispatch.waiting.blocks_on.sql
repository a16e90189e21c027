SELECT failover_blocks.worker_id, failover_blocks.structure_hash, failover_blocks.tenant_id, failover_blocks.failure_count, failover_blocks.cooldown_s, failover_blocks.blocked_until, failover_blocks.probe_dispatch_id, failover_blocks.probe_until, failover_blocks.created_at, failover_blocks.blocked_until <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS opens
FROM failover_blocks
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_hash)s::VARCHAR AS jsonb)) AS r(hash TEXT)) AS b ON failover_blocks.structure_hash = b.hash
WHERE failover_blocks.cooldown_s > %(cooldown_s_1)s::INTEGER
