SELECT tenant_audit_log.tenant_id, tenant_audit_log.mac
FROM tenant_audit_log
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_tenant_id_seq)s::VARCHAR AS jsonb)) AS r(tenant_id UUID, seq BIGINT)) AS b ON tenant_audit_log.tenant_id = b.tenant_id
AND tenant_audit_log.seq = b.seq
