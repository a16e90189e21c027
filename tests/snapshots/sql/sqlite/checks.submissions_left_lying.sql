SELECT found.tenant_id, found.job_id, found.created_at, count(*) OVER () AS total
FROM (SELECT submissions.tenant_id AS tenant_id, submissions.job_id AS job_id, submissions.created_at AS created_at
FROM submissions
WHERE submissions.sent_at IS NULL
AND submissions.created_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) AS found
LIMIT ? OFFSET ?
