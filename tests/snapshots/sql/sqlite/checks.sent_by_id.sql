SELECT submissions.job_id, submissions.tenant_id
FROM submissions
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON submissions.job_id = b.id
WHERE submissions.sent_at IS NOT NULL
