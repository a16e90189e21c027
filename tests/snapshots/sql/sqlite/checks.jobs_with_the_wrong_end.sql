SELECT found.tenant_id, found.id, found.status, found.type, count(*) OVER () AS total
FROM (SELECT ai_jobs.tenant_id AS tenant_id, ai_jobs.id AS id, ai_jobs.status AS status, token_transactions.type AS type
FROM ai_jobs
JOIN token_transactions ON token_transactions.tenant_id = ai_jobs.tenant_id
AND token_transactions.job_id = ai_jobs.id
WHERE ai_jobs.status = ?
AND token_transactions.type = ? OR ai_jobs.status IN (__[POSTCOMPILE_status_2])
AND token_transactions.type = ?) AS found
LIMIT ? OFFSET ?
