SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.status, ai_job_dispatches.done_epoch, ai_job_dispatches.settled_at IS NOT NULL AS settled
FROM ai_job_dispatches
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON ai_job_dispatches.id = b.id
