SELECT submissions.job_id, submissions.traceparent
FROM submissions
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON submissions.job_id = b.id
WHERE submissions.traceparent IS NOT NULL
