SELECT found.id, found.dispatch_id, found.outcome, found.status, count(*) OVER () AS total
FROM (SELECT settlements.id AS id, settlements.dispatch_id AS dispatch_id, settlements.outcome AS outcome, ai_job_dispatches.status AS status
FROM settlements
JOIN ai_job_dispatches ON ai_job_dispatches.id = settlements.dispatch_id
WHERE ai_job_dispatches.finished_at IS NULL OR settlements.outcome != ai_job_dispatches.status) AS found
LIMIT %(param_1)s::INTEGER
