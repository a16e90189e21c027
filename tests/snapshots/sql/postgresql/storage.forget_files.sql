DELETE
FROM files
WHERE files.status = %(status_1)s::VARCHAR
AND files.id IN (SELECT b.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b)
