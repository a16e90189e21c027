INSERT INTO tenant_audit_log (tenant_id, seq, at, actor_kind, actor, action, subject, address, detail, mac)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
