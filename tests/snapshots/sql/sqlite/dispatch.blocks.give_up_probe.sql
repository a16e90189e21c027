UPDATE failover_blocks
SET probe_dispatch_id=?, probe_until=?
WHERE failover_blocks.probe_dispatch_id = ?
AND failover_blocks.worker_id = ?
AND failover_blocks.structure_hash = ?
