SELECT found.tenant_id, found.run_id, found.position, found.place, found.jobs, found.variants, count(*) OVER () AS total
FROM (SELECT run_jobs.tenant_id AS tenant_id, run_jobs.run_id AS run_id, run_jobs.position AS position, run_jobs.place AS place, count(*) AS jobs, pipeline_run_steps.variants AS variants
FROM run_jobs
JOIN pipeline_run_steps ON pipeline_run_steps.tenant_id = run_jobs.tenant_id
AND pipeline_run_steps.run_id = run_jobs.run_id
AND pipeline_run_steps.position = run_jobs.position
WHERE run_jobs.state IN (__[POSTCOMPILE_state_1]) GROUP BY run_jobs.tenant_id, run_jobs.run_id, run_jobs.position, run_jobs.place, pipeline_run_steps.variants HAVING count(*) > pipeline_run_steps.variants) AS found
LIMIT ? OFFSET ?
