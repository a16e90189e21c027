INSERT INTO settlements (id, dispatch_id, tenant_id, pool, outcome, detail, tries, next_try_at, created_at)
SELECT b.id, b.dispatch_id, b.tenant_id, b.pool, b.outcome, b.detail, ? AS anon_1, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_2, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_3
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.dispatch_id') AS dispatch_id, json_extract(value, '$.tenant_id') AS tenant_id, json_extract(value, '$.pool') AS pool, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.detail') AS detail
FROM json_each(?)) AS b
