SELECT submissions.job_id, submissions.traceparent
FROM submissions
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON submissions.job_id = b.id
WHERE submissions.traceparent IS NOT NULL
