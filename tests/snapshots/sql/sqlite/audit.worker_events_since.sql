SELECT newest.id, newest.at, newest.event, newest.worker_id, newest.dispatch_id, newest.tenant_id, newest.address, newest.detail
FROM (SELECT worker_audit_log.id AS id, worker_audit_log.at AS at, worker_audit_log.event AS event, worker_audit_log.worker_id AS worker_id, worker_audit_log.dispatch_id AS dispatch_id, worker_audit_log.tenant_id AS tenant_id, worker_audit_log.address AS address, worker_audit_log.detail AS detail
FROM worker_audit_log
ORDER BY worker_audit_log.id DESC
LIMIT ? OFFSET ?) AS newest
WHERE newest.at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND newest.event IN (__[POSTCOMPILE_event_1])
ORDER BY newest.id
