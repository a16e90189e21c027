SELECT b.n, dispatch_payloads.payload
FROM dispatch_payloads
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(n INTEGER, id UUID)) AS b ON dispatch_payloads.dispatch_id = b.id
