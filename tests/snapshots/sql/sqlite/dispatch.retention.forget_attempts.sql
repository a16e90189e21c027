DELETE
FROM dispatch_attempts
WHERE dispatch_attempts.dispatch_id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
