SELECT tenants.id
FROM tenants
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON tenants.id = b.id
WHERE tenants.status = %(status_1)s::VARCHAR
