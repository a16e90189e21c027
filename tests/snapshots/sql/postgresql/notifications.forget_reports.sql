DELETE
FROM replica_reports
WHERE replica_reports.reported_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
