SELECT tenants.id, tenants.slug
FROM tenants
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON tenants.id = b.id
