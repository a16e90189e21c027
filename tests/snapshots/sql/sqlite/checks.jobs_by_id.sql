SELECT ai_jobs.id, ai_jobs.tenant_id, ai_jobs.status
FROM ai_jobs
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON ai_jobs.id = b.id
