SELECT CAST(coalesce(sum(files.size), ?) AS BIGINT) AS total
FROM files
WHERE files.tenant_id = ?
AND files.status != ?
