SELECT audit_log.seq, audit_log.at AS at, audit_log.actor_kind, audit_log.actor, audit_log.action, audit_log.subject, audit_log.address, audit_log.detail, audit_log.mac
FROM audit_log
WHERE audit_log.seq > ?
ORDER BY audit_log.seq
LIMIT ? OFFSET ?
