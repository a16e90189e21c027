INSERT INTO audit_log (seq, at, actor_kind, actor, action, subject, address, detail, mac)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
