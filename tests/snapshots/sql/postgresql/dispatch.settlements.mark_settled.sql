UPDATE ai_job_dispatches
SET settled_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.settled_at IS NULL
