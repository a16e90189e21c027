UPDATE ai_job_dispatches
SET settled_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
WHERE ai_job_dispatches.id = b.id
AND ai_job_dispatches.settled_at IS NULL
