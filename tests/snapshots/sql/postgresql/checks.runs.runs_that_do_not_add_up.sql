SELECT found.tenant_id, found.id, found.in_flight, found.started, found.spent, count(*) OVER () AS total
FROM (SELECT pipeline_runs.tenant_id AS tenant_id, pipeline_runs.id AS id, (SELECT count(*) AS count_1
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_runs.tenant_id
AND run_jobs.run_id = pipeline_runs.id
AND run_jobs.state = %(state_1)s::VARCHAR) AS in_flight, (SELECT count(*) AS count_2
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_runs.tenant_id
AND run_jobs.run_id = pipeline_runs.id) AS started, (SELECT CAST(coalesce(sum(run_jobs.tokens), %(coalesce_2)s::INTEGER) AS BIGINT) AS coalesce_1
FROM run_jobs
JOIN ai_jobs ON ai_jobs.tenant_id = run_jobs.tenant_id
AND ai_jobs.id = run_jobs.job_id
AND (ai_jobs.status NOT IN (__[POSTCOMPILE_status_1]))
WHERE run_jobs.tenant_id = pipeline_runs.tenant_id
AND run_jobs.run_id = pipeline_runs.id) AS spent
FROM pipeline_runs
WHERE pipeline_runs.in_flight != (SELECT count(*) AS count_1
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_runs.tenant_id
AND run_jobs.run_id = pipeline_runs.id
AND run_jobs.state = %(state_1)s::VARCHAR) OR pipeline_runs.jobs_started != (SELECT count(*) AS count_2
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_runs.tenant_id
AND run_jobs.run_id = pipeline_runs.id) OR pipeline_runs.tokens_spent != (SELECT CAST(coalesce(sum(run_jobs.tokens), %(coalesce_2)s::INTEGER) AS BIGINT) AS coalesce_1
FROM run_jobs
JOIN ai_jobs ON ai_jobs.tenant_id = run_jobs.tenant_id
AND ai_jobs.id = run_jobs.job_id
AND (ai_jobs.status NOT IN (__[POSTCOMPILE_status_1]))
WHERE run_jobs.tenant_id = pipeline_runs.tenant_id
AND run_jobs.run_id = pipeline_runs.id)) AS found
LIMIT %(param_1)s::INTEGER
