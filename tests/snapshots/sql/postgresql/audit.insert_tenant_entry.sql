INSERT INTO tenant_audit_log (tenant_id, seq, at, actor_kind, actor, action, subject, address, detail, mac)
VALUES (%(bound_tenant_id)s::UUID, %(seq)s::BIGINT, %(at)s::TIMESTAMP WITH TIME ZONE, %(actor_kind)s::VARCHAR, %(actor)s::VARCHAR, %(action)s::VARCHAR, %(subject)s::VARCHAR, %(address)s::VARCHAR, %(detail)s::VARCHAR, %(mac)s::VARCHAR)
