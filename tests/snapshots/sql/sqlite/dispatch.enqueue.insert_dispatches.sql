INSERT INTO ai_job_dispatches (id, tenant_id, pool, workflow_id, provider, lane, priority, fair_tag, seq, run_deadline_s, delivers, tenant_job_id, status, attempts, max_attempts, releases, max_releases, epoch, queued_at, queue_deadline_at, created_at)
SELECT b.id, b.tenant_id, b.pool, b.workflow_id, b.provider, b.lane, b.priority, b.fair_tag, b.seq, b.run_deadline_s, b.delivers, b.id AS id__1, ? AS anon_1, ? AS anon_2, ? AS anon_3, ? AS anon_4, ? AS anon_5, ? AS anon_6, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_7, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_8, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_9
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, replace(json_extract(value, '$.tenant_id'), '-', '') AS tenant_id, json_extract(value, '$.pool') AS pool, replace(json_extract(value, '$.workflow_id'), '-', '') AS workflow_id, json_extract(value, '$.provider') AS provider, json_extract(value, '$.lane') AS lane, json_extract(value, '$.priority') AS priority, json_extract(value, '$.fair_tag') AS fair_tag, json_extract(value, '$.seq') AS seq, json_extract(value, '$.run_deadline_s') AS run_deadline_s, json_extract(value, '$.delivers') AS delivers
FROM json_each(?)) AS b
WHERE 1 = 1
ON CONFLICT DO NOTHING
RETURNING id
