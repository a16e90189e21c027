SELECT max(audit_log.seq) AS seq, audit_log.action
FROM audit_log
WHERE audit_log.seq > %(seq_1)s::BIGINT GROUP BY audit_log.action
