SELECT found.tenant_id, found.user_id, found.idempotency_key, found.jobs, count(*) OVER () AS total
FROM (SELECT ai_jobs.tenant_id AS tenant_id, ai_jobs.user_id AS user_id, ai_jobs.idempotency_key AS idempotency_key, count(*) AS jobs
FROM ai_jobs
WHERE ai_jobs.idempotency_key IS NOT NULL GROUP BY ai_jobs.tenant_id, ai_jobs.user_id, ai_jobs.idempotency_key HAVING count(*) > ?) AS found
LIMIT ? OFFSET ?
