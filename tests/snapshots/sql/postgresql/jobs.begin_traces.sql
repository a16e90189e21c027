UPDATE submissions
SET traceparent=coalesce(submissions.traceparent, b.traceparent)
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, traceparent TEXT)) AS b
WHERE submissions.job_id = b.id
RETURNING submissions.job_id, submissions.traceparent
