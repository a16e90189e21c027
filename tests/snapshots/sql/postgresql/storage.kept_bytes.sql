SELECT CAST(coalesce(sum(files.size), %(coalesce_1)s::INTEGER) AS BIGINT) AS total
FROM files
WHERE files.tenant_id = %(bound_tenant_id)s::UUID
AND files.status != %(status_1)s::VARCHAR
