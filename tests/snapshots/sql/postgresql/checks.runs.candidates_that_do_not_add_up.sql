SELECT found.tenant_id, found.run_id, found.id, found.counted_children, count(*) OVER () AS total
FROM (SELECT candidates.tenant_id AS tenant_id, candidates.run_id AS run_id, candidates.id AS id, (SELECT count(*) AS count_1
FROM candidates AS child
WHERE child.tenant_id = candidates.tenant_id
AND child.parent_id = candidates.id) + (SELECT count(*) AS count_2
FROM run_jobs
WHERE run_jobs.tenant_id = candidates.tenant_id
AND run_jobs.parent_id = candidates.id
AND run_jobs.run_id = candidates.run_id
AND run_jobs.state = %(state_1)s::VARCHAR) AS counted_children
FROM candidates
WHERE candidates.children != (SELECT count(*) AS count_1
FROM candidates AS child
WHERE child.tenant_id = candidates.tenant_id
AND child.parent_id = candidates.id) + (SELECT count(*) AS count_2
FROM run_jobs
WHERE run_jobs.tenant_id = candidates.tenant_id
AND run_jobs.parent_id = candidates.id
AND run_jobs.run_id = candidates.run_id
AND run_jobs.state = %(state_1)s::VARCHAR) OR candidates.started != (SELECT count(*) AS count_3
FROM run_jobs
WHERE run_jobs.tenant_id = candidates.tenant_id
AND run_jobs.parent_id = candidates.id
AND run_jobs.run_id = candidates.run_id) OR candidates.failures != (SELECT count(*) AS count_4
FROM run_jobs
WHERE run_jobs.tenant_id = candidates.tenant_id
AND run_jobs.parent_id = candidates.id
AND run_jobs.run_id = candidates.run_id
AND run_jobs.state = %(state_2)s::VARCHAR) OR candidates.votes != (SELECT count(*) AS count_5
FROM votes
WHERE votes.tenant_id = candidates.tenant_id
AND votes.run_id = candidates.run_id
AND (votes.winner_id = candidates.id OR votes.loser_id = candidates.id))) AS found
LIMIT %(param_1)s::INTEGER
