SELECT replica_reports.replica, replica_reports.loops, replica_reports.disks, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(replica_reports.reported_at)) * 86400.0) AS reported_ago_s
FROM replica_reports
