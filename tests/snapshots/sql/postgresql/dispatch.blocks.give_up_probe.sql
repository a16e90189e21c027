UPDATE failover_blocks
SET probe_dispatch_id=%(probe_dispatch_id)s::UUID, probe_until=%(probe_until)s::TIMESTAMP WITH TIME ZONE
WHERE failover_blocks.probe_dispatch_id = %(probe_dispatch_id_1)s::UUID
AND failover_blocks.worker_id = %(worker_id_1)s::UUID
AND failover_blocks.structure_hash = %(structure_hash_1)s::VARCHAR
