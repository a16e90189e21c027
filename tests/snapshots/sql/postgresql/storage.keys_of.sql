SELECT files.id, files.path
FROM files
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON files.id = b.id
WHERE files.status != %(status_1)s::VARCHAR
