DELETE
FROM ai_job_dispatches
WHERE ai_job_dispatches.id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
