UPDATE audit_head
SET seq=?, mac=?
WHERE audit_head.id = ?
AND audit_head.seq = ?
RETURNING seq
