INSERT INTO audit_head (id, seq, mac)
VALUES (%(id)s::INTEGER, %(seq)s::BIGINT, %(mac)s::VARCHAR)
ON CONFLICT DO NOTHING
