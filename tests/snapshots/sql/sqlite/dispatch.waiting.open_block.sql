UPDATE failover_blocks
SET blocked_until=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE failover_blocks.worker_id = ?
AND failover_blocks.structure_hash = ?
AND failover_blocks.blocked_until > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND (failover_blocks.probe_dispatch_id IS NULL OR failover_blocks.probe_until <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
RETURNING worker_id
