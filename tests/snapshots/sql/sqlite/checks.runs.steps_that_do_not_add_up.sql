SELECT found.tenant_id, found.run_id, found.position, found.counted_made, found.counted_alive, found.counted_in_flight, found.counted_started, found.counted_failures, found.counted_votes, count(*) OVER () AS total
FROM (SELECT pipeline_run_steps.tenant_id AS tenant_id, pipeline_run_steps.run_id AS run_id, pipeline_run_steps.position AS position, (SELECT count(*) AS count_1
FROM candidates
WHERE candidates.tenant_id = pipeline_run_steps.tenant_id
AND candidates.run_id = pipeline_run_steps.run_id
AND candidates.position = pipeline_run_steps.position) AS counted_made, (SELECT count(*) AS count_2
FROM candidates
WHERE candidates.tenant_id = pipeline_run_steps.tenant_id
AND candidates.run_id = pipeline_run_steps.run_id
AND candidates.position = pipeline_run_steps.position
AND candidates.status = ?) AS counted_alive, (SELECT count(*) AS count_3
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_run_steps.tenant_id
AND run_jobs.run_id = pipeline_run_steps.run_id
AND run_jobs.position = pipeline_run_steps.position
AND run_jobs.state = ?) AS counted_in_flight, (SELECT count(*) AS count_4
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_run_steps.tenant_id
AND run_jobs.run_id = pipeline_run_steps.run_id
AND run_jobs.position = pipeline_run_steps.position) AS counted_started, (SELECT count(*) AS count_5
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_run_steps.tenant_id
AND run_jobs.run_id = pipeline_run_steps.run_id
AND run_jobs.position = pipeline_run_steps.position
AND run_jobs.state = ?) AS counted_failures, (SELECT count(*) AS count_6
FROM votes
WHERE votes.tenant_id = pipeline_run_steps.tenant_id
AND votes.run_id = pipeline_run_steps.run_id
AND votes.position = pipeline_run_steps.position) AS counted_votes
FROM pipeline_run_steps
WHERE pipeline_run_steps.made != (SELECT count(*) AS count_1
FROM candidates
WHERE candidates.tenant_id = pipeline_run_steps.tenant_id
AND candidates.run_id = pipeline_run_steps.run_id
AND candidates.position = pipeline_run_steps.position) OR pipeline_run_steps.alive != (SELECT count(*) AS count_2
FROM candidates
WHERE candidates.tenant_id = pipeline_run_steps.tenant_id
AND candidates.run_id = pipeline_run_steps.run_id
AND candidates.position = pipeline_run_steps.position
AND candidates.status = ?) OR pipeline_run_steps.in_flight != (SELECT count(*) AS count_3
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_run_steps.tenant_id
AND run_jobs.run_id = pipeline_run_steps.run_id
AND run_jobs.position = pipeline_run_steps.position
AND run_jobs.state = ?) OR pipeline_run_steps.started != (SELECT count(*) AS count_4
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_run_steps.tenant_id
AND run_jobs.run_id = pipeline_run_steps.run_id
AND run_jobs.position = pipeline_run_steps.position) OR pipeline_run_steps.failures != (SELECT count(*) AS count_5
FROM run_jobs
WHERE run_jobs.tenant_id = pipeline_run_steps.tenant_id
AND run_jobs.run_id = pipeline_run_steps.run_id
AND run_jobs.position = pipeline_run_steps.position
AND run_jobs.state = ?) OR pipeline_run_steps.votes != (SELECT count(*) AS count_6
FROM votes
WHERE votes.tenant_id = pipeline_run_steps.tenant_id
AND votes.run_id = pipeline_run_steps.run_id
AND votes.position = pipeline_run_steps.position)) AS found
LIMIT ? OFFSET ?
