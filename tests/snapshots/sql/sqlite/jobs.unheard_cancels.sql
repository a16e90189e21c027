SELECT ai_jobs.id
FROM ai_jobs
WHERE ai_jobs.cancel_requested_at IS NOT NULL
AND ai_jobs.completed_at IS NULL
AND ai_jobs.cancel_requested_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY ai_jobs.cancel_requested_at
LIMIT ? OFFSET ?
