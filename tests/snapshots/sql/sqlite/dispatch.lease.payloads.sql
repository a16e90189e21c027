SELECT b.n, dispatch_payloads.payload
FROM dispatch_payloads
JOIN (SELECT json_extract(value, '$.n') AS n, replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON dispatch_payloads.dispatch_id = b.id
