INSERT INTO ai_job_dispatches (id, tenant_id, pool, workflow_id, provider, lane, priority, fair_tag, seq, run_deadline_s, delivers, traceparent, tenant_job_id, status, attempts, max_attempts, releases, max_releases, epoch, queued_at, queue_deadline_at, created_at)
SELECT b.id, b.tenant_id, b.pool, b.workflow_id, b.provider, b.lane, b.priority, b.fair_tag, b.seq, b.run_deadline_s, b.delivers, b.traceparent, b.id AS id__1, %(param_1)s::VARCHAR AS anon_1, %(param_2)s::INTEGER AS anon_2, %(param_3)s::INTEGER AS anon_3, %(param_4)s::INTEGER AS anon_4, %(param_5)s::INTEGER AS anon_5, %(param_6)s::BIGINT AS anon_6, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_7, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)) AS anon_8, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_3)s)) AS anon_9
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, tenant_id UUID, pool TEXT, workflow_id UUID, provider TEXT, lane INTEGER, priority INTEGER, fair_tag DOUBLE PRECISION, seq BIGINT, run_deadline_s FLOAT, delivers BOOLEAN, traceparent TEXT)) AS b
WHERE true
ON CONFLICT DO NOTHING
RETURNING ai_job_dispatches.id
