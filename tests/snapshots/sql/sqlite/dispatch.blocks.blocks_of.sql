SELECT failover_blocks.worker_id, failover_blocks.structure_hash, failover_blocks.tenant_id, failover_blocks.blocked_until <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS half_open, failover_blocks.probe_dispatch_id IS NOT NULL
AND failover_blocks.probe_until > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS probing
FROM failover_blocks
JOIN (SELECT replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id
FROM json_each(?)) AS asked ON failover_blocks.worker_id = asked.worker_id
WHERE failover_blocks.cooldown_s > ?
