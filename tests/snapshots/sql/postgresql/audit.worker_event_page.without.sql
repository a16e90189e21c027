SELECT worker_audit_log.id, worker_audit_log.at, worker_audit_log.event, worker_audit_log.worker_id, worker_audit_log.dispatch_id, worker_audit_log.tenant_id, worker_audit_log.address, worker_audit_log.detail
FROM worker_audit_log
ORDER BY worker_audit_log.id DESC
LIMIT %(param_1)s::INTEGER
