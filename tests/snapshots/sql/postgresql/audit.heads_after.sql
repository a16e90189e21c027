SELECT tenant_audit_heads.tenant_id, tenant_audit_heads.seq, tenant_audit_heads.mac, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS at
FROM tenant_audit_heads
WHERE tenant_audit_heads.tenant_id > %(tenant_id_1)s::UUID
ORDER BY tenant_audit_heads.tenant_id
LIMIT %(param_1)s::INTEGER
