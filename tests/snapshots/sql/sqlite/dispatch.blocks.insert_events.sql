INSERT INTO worker_audit_log (id, at, event, worker_id, dispatch_id, tenant_id, detail)
SELECT b.id, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_1, ? AS anon_2, comfyui_workers.worker_id, b.dispatch_id, b.tenant_id, b.detail
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, replace(json_extract(value, '$.worker_id'), '-', '') AS worker_id, replace(json_extract(value, '$.dispatch_id'), '-', '') AS dispatch_id, replace(json_extract(value, '$.tenant_id'), '-', '') AS tenant_id, json_extract(value, '$.detail') AS detail
FROM json_each(?)) AS b
JOIN comfyui_workers ON comfyui_workers.id = b.worker_id
