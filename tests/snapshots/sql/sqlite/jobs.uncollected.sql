SELECT ai_jobs.id, ai_jobs.tenant_id
FROM ai_jobs
WHERE ai_jobs.completed_at IS NOT NULL
AND ai_jobs.collected_at IS NULL
AND ai_jobs.completed_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY ai_jobs.completed_at
LIMIT ? OFFSET ?
