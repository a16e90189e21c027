SELECT tenant_audit_heads.seq, tenant_audit_heads.mac, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS at
FROM tenant_audit_heads
WHERE tenant_audit_heads.tenant_id = %(bound_tenant_id)s::UUID FOR UPDATE OF tenant_audit_heads
