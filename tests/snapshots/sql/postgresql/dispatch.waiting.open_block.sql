UPDATE failover_blocks
SET blocked_until=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE failover_blocks.worker_id = %(worker_id_1)s::UUID
AND failover_blocks.structure_hash = %(structure_hash_1)s::VARCHAR
AND failover_blocks.blocked_until > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
AND (failover_blocks.probe_dispatch_id IS NULL OR failover_blocks.probe_until <= (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_3)s)))
RETURNING failover_blocks.worker_id
