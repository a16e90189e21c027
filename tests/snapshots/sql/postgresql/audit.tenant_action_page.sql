SELECT tenant_audit_log.tenant_id, tenant_audit_log.seq, tenant_audit_log.at, tenant_audit_log.actor_kind, tenant_audit_log.actor, tenant_audit_log.action, tenant_audit_log.subject, tenant_audit_log.address, tenant_audit_log.detail, tenant_audit_log.mac
FROM tenant_audit_log
WHERE tenant_audit_log.tenant_id = %(bound_tenant_id)s::UUID
AND tenant_audit_log.seq < %(seq_1)s::BIGINT
ORDER BY tenant_audit_log.seq DESC
LIMIT %(param_1)s::INTEGER
