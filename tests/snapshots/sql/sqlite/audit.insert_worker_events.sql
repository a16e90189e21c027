INSERT INTO worker_audit_log (id, event, worker_id, dispatch_id, tenant_id, address, detail, at)
SELECT b.id, b.event, b.worker_id, b.dispatch_id, b.tenant_id, b.address, b.detail, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_1
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.event') AS event, json_extract(value, '$.worker_id') AS worker_id, replace(json_extract(value, '$.dispatch_id'), '-', '') AS dispatch_id, replace(json_extract(value, '$.tenant_id'), '-', '') AS tenant_id, json_extract(value, '$.address') AS address, json_extract(value, '$.detail') AS detail
FROM json_each(?)) AS b
