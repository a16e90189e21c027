SELECT files.id, files.path
FROM files
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON files.id = b.id
WHERE files.status != ?
