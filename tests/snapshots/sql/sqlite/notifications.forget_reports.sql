DELETE
FROM replica_reports
WHERE replica_reports.reported_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
