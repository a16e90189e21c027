SELECT found.id, found.tenant_id, found.pool, found.tenant_pool, count(*) OVER () AS total
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.tenant_id AS tenant_id, ai_job_dispatches.pool AS pool, tenants.pool AS tenant_pool
FROM ai_job_dispatches
LEFT OUTER
JOIN tenants ON tenants.id = ai_job_dispatches.tenant_id
WHERE tenants.id IS NULL OR tenants.pool != ai_job_dispatches.pool) AS found
LIMIT %(param_1)s::INTEGER
