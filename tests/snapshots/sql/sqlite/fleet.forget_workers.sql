DELETE
FROM comfyui_workers
WHERE comfyui_workers.id IN (SELECT b.id
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b)
