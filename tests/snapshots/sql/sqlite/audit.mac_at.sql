SELECT audit_log.mac
FROM audit_log
WHERE audit_log.seq = ?
