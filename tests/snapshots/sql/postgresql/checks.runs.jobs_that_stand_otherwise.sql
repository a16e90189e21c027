SELECT found.tenant_id, found.run_id, found.job_id, found.state, found.status, count(*) OVER () AS total
FROM (SELECT run_jobs.tenant_id AS tenant_id, run_jobs.run_id AS run_id, run_jobs.job_id AS job_id, run_jobs.state AS state, ai_jobs.status AS status
FROM run_jobs
LEFT OUTER
JOIN ai_jobs ON ai_jobs.tenant_id = run_jobs.tenant_id
AND ai_jobs.id = run_jobs.job_id
WHERE ai_jobs.id IS NULL OR ai_jobs.run_id IS DISTINCT
FROM run_jobs.run_id OR run_jobs.state = %(state_1)s::VARCHAR
AND ai_jobs.status IN (__[POSTCOMPILE_status_1]) OR run_jobs.state != %(state_1)s::VARCHAR
AND (ai_jobs.status NOT IN (__[POSTCOMPILE_status_2])) OR run_jobs.state = %(state_2)s::VARCHAR
AND ai_jobs.status != %(status_3)s::VARCHAR) AS found
LIMIT %(param_1)s::INTEGER
