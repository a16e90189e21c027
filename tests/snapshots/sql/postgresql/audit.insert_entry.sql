INSERT INTO audit_log (seq, at, actor_kind, actor, action, subject, address, detail, mac)
VALUES (%(seq)s::BIGINT, %(at)s::TIMESTAMP WITH TIME ZONE, %(actor_kind)s::VARCHAR, %(actor)s::VARCHAR, %(action)s::VARCHAR, %(subject)s::VARCHAR, %(address)s::VARCHAR, %(detail)s::VARCHAR, %(mac)s::VARCHAR)
