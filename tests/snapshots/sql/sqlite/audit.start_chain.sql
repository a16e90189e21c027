INSERT INTO audit_head (id, seq, mac)
VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
