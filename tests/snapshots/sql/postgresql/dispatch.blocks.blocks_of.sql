SELECT failover_blocks.worker_id, failover_blocks.structure_hash, failover_blocks.tenant_id, failover_blocks.blocked_until <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS half_open, failover_blocks.probe_dispatch_id IS NOT NULL
AND failover_blocks.probe_until > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)) AS probing
FROM failover_blocks
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(worker_id UUID)) AS asked ON failover_blocks.worker_id = asked.worker_id
WHERE failover_blocks.cooldown_s > %(cooldown_s_1)s::INTEGER
