INSERT INTO settlements (id, dispatch_id, tenant_id, pool, outcome, detail, tries, next_try_at, created_at)
SELECT b.settlement_id, ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.pool, ai_job_dispatches.status, b.detail, ? AS anon_1, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_2, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_3
FROM (SELECT replace(json_extract(value, '$.settlement_id'), '-', '') AS settlement_id, replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.detail') AS detail
FROM json_each(?)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = b.id
