SELECT dispatch_payloads.dispatch_id, dispatch_payloads.payload
FROM dispatch_payloads
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON dispatch_payloads.dispatch_id = b.id
