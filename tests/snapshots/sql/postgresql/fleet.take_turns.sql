SELECT pg_advisory_xact_lock(hashtextextended(CAST(ordered.id AS text), 0)) AS anon_1
FROM (SELECT b.id AS id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b
ORDER BY b.id) AS ordered
