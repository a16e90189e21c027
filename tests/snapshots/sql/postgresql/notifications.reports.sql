SELECT replica_reports.replica, replica_reports.loops, replica_reports.disks, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (replica_reports.reported_at))::float8 AS reported_ago_s
FROM replica_reports
