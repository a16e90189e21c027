SELECT found.tenant_id, found.id, found.results, count(*) OVER () AS total
FROM (SELECT ai_jobs.tenant_id AS tenant_id, ai_jobs.id AS id, (SELECT count(*) AS count_1
FROM job_files
WHERE job_files.tenant_id = ai_jobs.tenant_id
AND job_files.job_id = ai_jobs.id
AND job_files.role = ?
AND job_files.is_primary = 1) AS results
FROM ai_jobs
WHERE ai_jobs.status = ?
AND ai_jobs.effect_id IS NOT NULL
AND (SELECT count(*) AS count_1
FROM job_files
WHERE job_files.tenant_id = ai_jobs.tenant_id
AND job_files.job_id = ai_jobs.id
AND job_files.role = ?
AND job_files.is_primary = 1) != ?) AS found
LIMIT ? OFFSET ?
