SELECT failover_blocks.worker_id AS worker_row, comfyui_workers.worker_id AS worker, failover_blocks.structure_hash, (SELECT min(workflows.slug) AS min_1
FROM workflows
WHERE workflows.structure_hash = failover_blocks.structure_hash) AS workflow, failover_blocks.tenant_id, tenants.slug AS tenant, failover_blocks.failure_count, failover_blocks.cooldown_s, failover_blocks.blocked_until, failover_blocks.blocked_until <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS half_open, failover_blocks.probe_dispatch_id, failover_blocks.created_at
FROM failover_blocks
LEFT OUTER
JOIN comfyui_workers ON comfyui_workers.id = failover_blocks.worker_id
LEFT OUTER
JOIN tenants ON tenants.id = failover_blocks.tenant_id
WHERE failover_blocks.worker_id IN (SELECT DISTINCT failover_blocks.worker_id
FROM failover_blocks
WHERE failover_blocks.cooldown_s > ?
AND failover_blocks.worker_id > ?
AND failover_blocks.worker_id = ?
ORDER BY failover_blocks.worker_id
LIMIT ? OFFSET ?)
AND failover_blocks.cooldown_s > ?
ORDER BY failover_blocks.worker_id, failover_blocks.structure_hash
