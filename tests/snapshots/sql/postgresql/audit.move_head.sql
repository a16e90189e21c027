UPDATE audit_head
SET seq=%(seq)s::BIGINT, mac=%(mac)s::VARCHAR
WHERE audit_head.id = %(id_1)s::INTEGER
AND audit_head.seq = %(seq_1)s::BIGINT
RETURNING audit_head.seq
