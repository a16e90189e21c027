UPDATE tenant_audit_heads
SET seq=%(seq)s::BIGINT, mac=%(mac)s::VARCHAR
WHERE tenant_audit_heads.tenant_id = %(bound_tenant_id)s::UUID
AND tenant_audit_heads.seq = %(seq_1)s::BIGINT
RETURNING tenant_audit_heads.seq
