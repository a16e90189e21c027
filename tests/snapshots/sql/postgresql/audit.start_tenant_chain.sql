INSERT INTO tenant_audit_heads (tenant_id, seq, mac)
VALUES (%(bound_tenant_id)s::UUID, %(seq)s::BIGINT, %(mac)s::VARCHAR)
ON CONFLICT DO NOTHING
