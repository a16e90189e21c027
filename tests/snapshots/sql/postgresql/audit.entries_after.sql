SELECT audit_log.seq, to_char(audit_log.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, audit_log.actor_kind, audit_log.actor, audit_log.action, audit_log.subject, audit_log.address, audit_log.detail, audit_log.mac
FROM audit_log
WHERE audit_log.seq > %(seq_1)s::BIGINT
ORDER BY audit_log.seq
LIMIT %(param_1)s::INTEGER
