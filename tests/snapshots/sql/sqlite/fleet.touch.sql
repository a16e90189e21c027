UPDATE comfyui_workers
SET current_load=b.load, last_seen_at=MAX(comfyui_workers.last_seen_at, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + -b.ago_s) || ' seconds') || '000Z'))
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.ago_s') AS ago_s, json_extract(value, '$.load') AS load
FROM json_each(?)) AS b
WHERE comfyui_workers.id = b.id
