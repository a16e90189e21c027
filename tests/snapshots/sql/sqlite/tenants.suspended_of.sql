SELECT tenants.id
FROM tenants
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON tenants.id = b.id
WHERE tenants.status = ?
