SELECT tenant_audit_heads.tenant_id, tenant_audit_heads.seq, tenant_audit_heads.mac, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS at
FROM tenant_audit_heads
ORDER BY tenant_audit_heads.tenant_id
LIMIT ? OFFSET ?
