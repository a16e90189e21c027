SELECT ai_job_dispatches.id
FROM ai_job_dispatches
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON ai_job_dispatches.id = b.id
