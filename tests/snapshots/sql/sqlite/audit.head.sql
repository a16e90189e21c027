SELECT audit_head.seq, audit_head.mac, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS at
FROM audit_head
WHERE audit_head.id = ?
