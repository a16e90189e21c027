DELETE
FROM comfyui_workers
WHERE comfyui_workers.id IN (SELECT b.id
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_id)s::VARCHAR AS jsonb)) AS r(id UUID)) AS b)
