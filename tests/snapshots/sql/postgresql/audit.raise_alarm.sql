INSERT INTO audit_alarms (id, pool, chain, seq, problem, found_at)
VALUES (%(id)s::UUID, %(pool)s::VARCHAR, %(chain)s::VARCHAR, %(seq)s::BIGINT, %(problem)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING audit_alarms.id, audit_alarms.pool, audit_alarms.chain, audit_alarms.seq, audit_alarms.problem, audit_alarms.found_at, audit_alarms.acknowledged_at, audit_alarms.acknowledged_by
