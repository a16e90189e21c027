SELECT workflows.id, workflows.slug
FROM workflows
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b ON workflows.id = b.id
