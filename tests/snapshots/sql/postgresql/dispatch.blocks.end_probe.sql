UPDATE failover_blocks
SET probe_dispatch_id=%(probe_dispatch_id)s::UUID, probe_until=%(probe_until)s::TIMESTAMP WITH TIME ZONE
WHERE failover_blocks.probe_dispatch_id = %(probe_dispatch_id_1)s::UUID
