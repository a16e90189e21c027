SELECT ai_job_dispatches.worker_id, count(*) AS held
FROM (SELECT json_extract(value, '$.worker_id') AS worker_id
FROM json_each(?)) AS asked
JOIN ai_job_dispatches ON ai_job_dispatches.worker_id = asked.worker_id
AND ai_job_dispatches.status = ? GROUP BY ai_job_dispatches.worker_id
