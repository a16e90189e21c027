INSERT INTO replica_reports (replica, reported_at, loops, disks)
VALUES (%(replica)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), %(loops)s::VARCHAR, %(disks)s::VARCHAR)
ON CONFLICT (replica) DO UPDATE
SET reported_at = (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), loops = %(param_1)s::VARCHAR, disks = %(param_2)s::VARCHAR
