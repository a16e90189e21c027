UPDATE tenant_audit_heads
SET seq=?, mac=?
WHERE tenant_audit_heads.tenant_id = ?
AND tenant_audit_heads.seq = ?
RETURNING seq
