SELECT ai_job_dispatches.worker_id, count(*) AS held
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_worker_id)s::VARCHAR AS jsonb)) AS r(worker_id UUID)) AS asked
JOIN ai_job_dispatches ON ai_job_dispatches.worker_id = asked.worker_id
AND ai_job_dispatches.status = %(status_1)s::VARCHAR GROUP BY ai_job_dispatches.worker_id
