UPDATE ai_jobs
SET collected_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
WHERE ai_jobs.id = b.id
AND ai_jobs.collected_at IS NULL
