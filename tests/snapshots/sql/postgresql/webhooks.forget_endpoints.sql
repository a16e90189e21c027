DELETE
FROM webhook_endpoints
WHERE webhook_endpoints.id IN (SELECT b.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b)
AND NOT webhook_endpoints.is_listed
AND webhook_endpoints.created_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
