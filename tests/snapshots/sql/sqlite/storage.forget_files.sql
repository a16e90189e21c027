DELETE
FROM files
WHERE files.status = ?
AND files.id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
