SELECT ai_job_dispatches.id, ai_job_dispatches.worker_id
FROM ai_job_dispatches
JOIN (SELECT replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, json_extract(value, '$.incarnation') AS incarnation
FROM json_each(?)) AS b ON ai_job_dispatches.worker_id = b.worker_id
AND ai_job_dispatches.incarnation = b.incarnation
AND ai_job_dispatches.status = 'leased'
WHERE ai_job_dispatches.cancel_requested_at IS NOT NULL
