INSERT INTO tenant_audit_heads (tenant_id, seq, mac)
VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
