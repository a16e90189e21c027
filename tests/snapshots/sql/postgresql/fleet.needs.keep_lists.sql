INSERT INTO capability_lists (digest, lists, created_at)
VALUES (%(digest)s::VARCHAR, %(lists)s::JSONB, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
