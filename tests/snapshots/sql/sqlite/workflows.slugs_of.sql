SELECT workflows.id, workflows.slug
FROM workflows
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON workflows.id = b.id
