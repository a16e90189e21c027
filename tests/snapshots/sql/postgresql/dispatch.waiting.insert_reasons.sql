INSERT INTO waiting_reasons (id, lane, tenant_id, reason, created_at)
SELECT b.id, b.lane, b.tenant_id, b.reason, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_1
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id_lane_tenant_id_reason)s::VARCHAR AS jsonb)) AS r(id UUID, lane INTEGER, tenant_id UUID, reason TEXT)) AS b
