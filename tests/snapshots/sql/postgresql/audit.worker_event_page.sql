SELECT worker_audit_log.id, worker_audit_log.at, worker_audit_log.event, worker_audit_log.worker_id, worker_audit_log.dispatch_id, worker_audit_log.tenant_id, worker_audit_log.address, worker_audit_log.detail
FROM worker_audit_log
WHERE worker_audit_log.worker_id = %(worker_id_1)s::VARCHAR
AND worker_audit_log.dispatch_id = %(dispatch_id_1)s::UUID
AND worker_audit_log.id < %(id_1)s::UUID
ORDER BY worker_audit_log.id DESC
LIMIT %(param_1)s::INTEGER
