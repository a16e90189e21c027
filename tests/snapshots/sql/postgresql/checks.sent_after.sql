SELECT submissions.job_id, submissions.tenant_id
FROM submissions
WHERE submissions.sent_at IS NOT NULL
AND submissions.job_id > %(job_id_1)s::UUID
ORDER BY submissions.job_id
LIMIT %(param_1)s::INTEGER
