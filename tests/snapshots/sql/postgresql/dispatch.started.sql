SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.pool, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (ai_job_dispatches.leased_at))::float8 AS ago_s
FROM ai_job_dispatches
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON ai_job_dispatches.id = b.id
WHERE ai_job_dispatches.leased_at IS NOT NULL
