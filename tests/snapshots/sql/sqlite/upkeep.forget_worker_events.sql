DELETE
FROM worker_audit_log
WHERE worker_audit_log.id IN (SELECT oldest.id
FROM (SELECT worker_audit_log.id AS id, worker_audit_log.at AS at
FROM worker_audit_log
ORDER BY worker_audit_log.id
LIMIT ? OFFSET ?) AS oldest
WHERE oldest.at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
