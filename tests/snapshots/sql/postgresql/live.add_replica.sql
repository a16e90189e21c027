INSERT INTO replicas (id, url, started_at, seen_at)
VALUES (%(id)s::UUID, %(url)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
ON CONFLICT DO NOTHING
