SELECT audit_log.seq, audit_log.at, audit_log.actor_kind, audit_log.actor, audit_log.action, audit_log.subject, audit_log.address, audit_log.detail, audit_log.mac
FROM audit_log
WHERE audit_log.seq < %(seq_1)s::BIGINT
ORDER BY audit_log.seq DESC
LIMIT %(param_1)s::INTEGER
