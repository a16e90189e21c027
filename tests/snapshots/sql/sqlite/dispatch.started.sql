SELECT ai_job_dispatches.id, ai_job_dispatches.tenant_id, ai_job_dispatches.pool, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(ai_job_dispatches.leased_at)) * 86400.0) AS ago_s
FROM ai_job_dispatches
JOIN (SELECT replace(json_extract(value, '$.id'), '-', '') AS id
FROM json_each(?)) AS b ON ai_job_dispatches.id = b.id
WHERE ai_job_dispatches.leased_at IS NOT NULL
