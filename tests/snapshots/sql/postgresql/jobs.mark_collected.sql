UPDATE ai_jobs
SET collected_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
WHERE ai_jobs.id = b.id
AND ai_jobs.collected_at IS NULL
