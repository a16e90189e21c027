INSERT INTO node_definitions (digest, worker_id, classes, size_bytes, created_at, seen_at)
VALUES (%(digest)s::VARCHAR, %(worker_id)s::VARCHAR, %(classes)s::INTEGER, %(size_bytes)s::INTEGER, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
ON CONFLICT DO NOTHING
