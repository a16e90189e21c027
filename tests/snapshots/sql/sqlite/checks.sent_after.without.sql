SELECT submissions.job_id, submissions.tenant_id
FROM submissions
WHERE submissions.sent_at IS NOT NULL
ORDER BY submissions.job_id
LIMIT ? OFFSET ?
