SELECT submissions.job_id, submissions.tenant_id
FROM submissions
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON submissions.job_id = b.id
WHERE submissions.sent_at IS NOT NULL
