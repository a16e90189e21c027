SELECT audit_alarms.id, audit_alarms.pool, audit_alarms.chain, audit_alarms.seq, audit_alarms.problem, audit_alarms.found_at, audit_alarms.acknowledged_at, audit_alarms.acknowledged_by
FROM audit_alarms
WHERE audit_alarms.id = ?
