INSERT INTO waiting_reasons (id, lane, tenant_id, reason, created_at)
SELECT b.id, b.lane, b.tenant_id, b.reason, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_1
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.lane') AS lane, replace(json_extract(value, '$.tenant_id'), '-', '') AS tenant_id, json_extract(value, '$.reason') AS reason
FROM json_each(?)) AS b
