SELECT DISTINCT ai_jobs.webhook_endpoint_id
FROM ai_jobs
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON ai_jobs.webhook_endpoint_id = b.id
WHERE ai_jobs.status IN (__[POSTCOMPILE_active])
