SELECT tenant_audit_log.tenant_id, tenant_audit_log.seq, to_char(tenant_audit_log.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, tenant_audit_log.actor_kind, tenant_audit_log.actor, tenant_audit_log.action, tenant_audit_log.subject, tenant_audit_log.address, tenant_audit_log.detail, tenant_audit_log.mac
FROM tenant_audit_log
ORDER BY tenant_audit_log.tenant_id, tenant_audit_log.seq
LIMIT %(param_1)s::INTEGER
