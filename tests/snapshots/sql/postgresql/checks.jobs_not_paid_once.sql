SELECT found.tenant_id, found.id, found.status, found.reserves, found.ends, count(*) OVER () AS total
FROM (SELECT ai_jobs.tenant_id AS tenant_id, ai_jobs.id AS id, ai_jobs.status AS status, (SELECT count(*) AS count_1
FROM token_transactions
WHERE token_transactions.tenant_id = ai_jobs.tenant_id
AND token_transactions.job_id = ai_jobs.id
AND token_transactions.type IN (__[POSTCOMPILE_type_1])) AS reserves, (SELECT count(*) AS count_2
FROM token_transactions
WHERE token_transactions.tenant_id = ai_jobs.tenant_id
AND token_transactions.job_id = ai_jobs.id
AND token_transactions.type IN (__[POSTCOMPILE_type_2])) AS ends
FROM ai_jobs
WHERE (SELECT count(*) AS count_1
FROM token_transactions
WHERE token_transactions.tenant_id = ai_jobs.tenant_id
AND token_transactions.job_id = ai_jobs.id
AND token_transactions.type IN (__[POSTCOMPILE_type_1])) != %(param_1)s::INTEGER OR (SELECT count(*) AS count_2
FROM token_transactions
WHERE token_transactions.tenant_id = ai_jobs.tenant_id
AND token_transactions.job_id = ai_jobs.id
AND token_transactions.type IN (__[POSTCOMPILE_type_2])) != CASE WHEN (ai_jobs.status IN (__[POSTCOMPILE_status_1])) THEN %(param_2)s::INTEGER ELSE %(param_3)s::INTEGER END) AS found
LIMIT %(param_4)s::INTEGER
