INSERT INTO settlements (id, dispatch_id, tenant_id, pool, outcome, detail, tries, next_try_at, created_at)
SELECT b.id, b.dispatch_id, b.tenant_id, b.pool, b.outcome, b.detail, %(param_1)s::INTEGER AS anon_1, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_2, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)) AS anon_3
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id_dispatch_id_tenant_id_pool_outcome_detail)s::VARCHAR AS jsonb)) AS r(id UUID, dispatch_id UUID, tenant_id UUID, pool TEXT, outcome TEXT, detail TEXT)) AS b
