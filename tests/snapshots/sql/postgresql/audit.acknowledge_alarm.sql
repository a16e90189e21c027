UPDATE audit_alarms
SET acknowledged_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), acknowledged_by=%(acknowledged_by)s::VARCHAR
WHERE audit_alarms.id = %(id_1)s::UUID
AND audit_alarms.acknowledged_at IS NULL
RETURNING audit_alarms.id, audit_alarms.pool, audit_alarms.chain, audit_alarms.seq, audit_alarms.problem, audit_alarms.found_at, audit_alarms.acknowledged_at, audit_alarms.acknowledged_by
