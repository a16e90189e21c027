SELECT found.id, found.status, found.settlements, count(*) OVER () AS total
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.status AS status, (SELECT count(*) AS count_1
FROM settlements
WHERE settlements.dispatch_id = ai_job_dispatches.id) AS settlements
FROM ai_job_dispatches
WHERE ai_job_dispatches.finished_at IS NOT NULL
AND (SELECT count(*) AS count_1
FROM settlements
WHERE settlements.dispatch_id = ai_job_dispatches.id) != %(param_1)s::INTEGER) AS found
LIMIT %(param_2)s::INTEGER
