INSERT INTO settlements (id, dispatch_id, tenant_id, pool, outcome, detail, tries, next_try_at, created_at)
SELECT b.settlement_id, ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.pool, ai_job_dispatches.status, b.detail, %(param_1)s::INTEGER AS anon_1, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_2, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)) AS anon_3
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(settlement_id UUID, id UUID, detail TEXT)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = b.id
