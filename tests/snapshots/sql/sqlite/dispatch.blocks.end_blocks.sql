DELETE
FROM failover_blocks
WHERE EXISTS (SELECT b.worker_id
FROM (SELECT replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.lane') AS lane
FROM json_each(?)) AS b
JOIN lanes ON lanes.id = b.lane
WHERE failover_blocks.worker_id = b.worker_id
AND (lanes.structure_hash = failover_blocks.structure_hash OR failover_blocks.structure_hash = ?))
RETURNING worker_id, structure_hash, tenant_id, failure_count, cooldown_s, blocked_until, probe_dispatch_id, probe_until, created_at
