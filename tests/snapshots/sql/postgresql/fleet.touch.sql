UPDATE comfyui_workers
SET current_load=b.load, last_seen_at=GREATEST(comfyui_workers.last_seen_at, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + -b.ago_s)))
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(id UUID, ago_s FLOAT, load INTEGER)) AS b
WHERE comfyui_workers.id = b.id
