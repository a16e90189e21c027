DELETE
FROM attempt_results
WHERE attempt_results.dispatch_id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
