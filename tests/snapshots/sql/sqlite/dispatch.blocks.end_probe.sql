UPDATE failover_blocks
SET probe_dispatch_id=?, probe_until=?
WHERE failover_blocks.probe_dispatch_id = ?
