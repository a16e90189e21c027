SELECT found.tenant_id, found.id, found.results, count(*) OVER () AS total
FROM (SELECT ai_jobs.tenant_id AS tenant_id, ai_jobs.id AS id, (SELECT count(*) AS count_1
FROM job_files
WHERE job_files.tenant_id = ai_jobs.tenant_id
AND job_files.job_id = ai_jobs.id
AND job_files.role = %(role_1)s::VARCHAR
AND job_files.is_primary) AS results
FROM ai_jobs
WHERE ai_jobs.status = %(status_1)s::VARCHAR
AND ai_jobs.effect_id IS NOT NULL
AND (SELECT count(*) AS count_1
FROM job_files
WHERE job_files.tenant_id = ai_jobs.tenant_id
AND job_files.job_id = ai_jobs.id
AND job_files.role = %(role_1)s::VARCHAR
AND job_files.is_primary) != %(param_1)s::INTEGER) AS found
LIMIT %(param_2)s::INTEGER
