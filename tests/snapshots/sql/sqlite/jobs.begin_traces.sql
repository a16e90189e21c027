UPDATE submissions
SET traceparent=coalesce(submissions.traceparent, b.traceparent)
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.traceparent') AS traceparent
FROM json_each(?)) AS b
WHERE submissions.job_id = b.id
RETURNING job_id, traceparent
