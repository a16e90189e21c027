SELECT ordered.id AS anon_1
FROM (SELECT b.id AS id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b
ORDER BY b.id) AS ordered
