SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.status, ai_jobs.workflow_id, ai_jobs.structure_hash, ai_jobs.provider, ai_jobs.priority, ai_jobs.expected_s, ai_jobs.run_deadline_s, ai_jobs.payload, ai_jobs.effect_id, submissions.traceparent
FROM ai_jobs
JOIN submissions ON submissions.job_id = ai_jobs.id
WHERE submissions.sent_at IS NULL
ORDER BY submissions.created_at, submissions.job_id
LIMIT ? OFFSET ?
