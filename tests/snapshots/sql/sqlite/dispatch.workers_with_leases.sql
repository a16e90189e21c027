SELECT ai_job_dispatches.worker_id
FROM ai_job_dispatches
JOIN (SELECT replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id
FROM json_each(?)) AS b ON ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.status = 'leased'
